package edge

import (
	"crypto/tls"
	"net/http"

	"github.com/sallyport/sallyport/edge/wire"
	"github.com/sallyport/sallyport/inject"
)

// transports are the pools of one identity that upstreams see: none, or a
// client certificate. Two never share a connection or a TLS session, because
// either carries the identity on.
type transports struct {
	origins  *wire.Origins   // HTTP/1.1, for ordinary requests; see ordinary
	pooled   *http.Transport // the rest, with HTTP/2 where the origin has it
	upgrades *http.Transport // HTTP/1.1 only: a WebSocket takes its connection over
}

// maxShowing bounds the certificates in use: those of every binding, and those
// that they replace.
const maxShowing = 2 * inject.MaxBindings

func (u *upstream) newTransports(show *inject.Certificate) *transports {
	base := &tls.Config{
		RootCAs:            u.roots,
		MinVersion:         tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(sessions),
	}
	if show != nil {
		base.Certificates = []tls.Certificate{show.TLS}
	}
	t := &transports{origins: u.newOrigins(base), pooled: u.transport(base, "h2", "http/1.1"), upgrades: u.transport(base, "http/1.1")}
	t.pooled.ForceAttemptHTTP2 = true
	t.upgrades.DisableKeepAlives = true
	return t
}

// by returns the transports that show a certificate; nil is for none.
func (u *upstream) by(show *inject.Certificate) *transports {
	if show == nil {
		return u.plain
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if known := u.showing[show]; known != nil {
		return known
	}
	if u.showing == nil || len(u.showing) >= maxShowing {
		for _, old := range u.showing {
			old.closeIdle()
		}
		u.showing = map[*inject.Certificate]*transports{}
	}
	t := u.newTransports(show)
	u.showing[show] = t
	return t
}

// closeIdle ends what is at rest.
func (t *transports) closeIdle() {
	t.origins.Close()
	t.pooled.CloseIdleConnections()
	t.upgrades.CloseIdleConnections()
}

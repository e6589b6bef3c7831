package edge

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/sallyport/sallyport/edge/refusal"
)

// identify returns the boundary that a request to the explicit proxy belongs
// to. On a boundary's own listener the listener proves it, and credentials,
// where there are any, must prove the same one. id is what was claimed, for
// the record, even if ok is false.
func (e *Edge) identify(listener string, r *http.Request) (id string, ok bool) {
	values := r.Header["Proxy-Authorization"]
	if len(values) == 0 {
		return listener, listener != ""
	}
	if len(values) > 1 {
		return listener, false
	}
	user, token, ok := parseBasic(values[0])
	if !ok || listener != "" && user != listener {
		return listener, false
	}
	return user, e.opts.Table.Authenticate(user, token) != nil
}

// parseBasic reads Basic credentials (RFC 7617 §2).
func parseBasic(value string) (user, password string, ok bool) {
	scheme, encoded, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "basic") {
		return "", "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(decoded), ":")
}

// refuseUnknown answers 407 and keeps the connection, because clients repeat
// the request on it with their credentials.
func (e *Edge) refuseUnknown(f *flow, w http.ResponseWriter, r *http.Request) {
	c, _ := e.beginRequest(f, r)
	defer c.finish(nil)
	e.write(w, c.refuse(&refusal.Refusal{Code: refusal.IdentityRequired, Host: r.Host, Detail: "no valid proxy credentials"}))
}

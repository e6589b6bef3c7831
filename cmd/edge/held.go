package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/control"
)

// held is what an edge opens while it has the identity that it was started
// with, and keeps.
type held struct {
	authority *certs.Authority
	ephemeral bool
	roots     *x509.CertPool // nil: the system's
	audit     *audit.Log
	proxy     *net.TCPListener // nil: none
	metrics   *net.TCPListener // nil: none
	control   *control.Socket  // nil: none
}

// open opens all that c names, for an edge that becomes the given user.
func open(c *config.Config, become *config.User, ephemeral bool) (_ *held, err error) {
	h := &held{ephemeral: ephemeral}
	defer func() {
		if err != nil {
			h.close(slog.New(slog.DiscardHandler))
		}
	}()
	if h.authority, err = openAuthority(c, become, ephemeral); err != nil {
		return nil, err
	}
	if h.roots, err = loadRoots(c.Upstream.ExtraRoots); err != nil {
		return nil, err
	}
	if h.audit, err = audit.Open(c.Audit); err != nil {
		return nil, err
	}
	if c.Listen.Proxy != "" {
		if h.proxy, err = listenTCP(c.Listen.Proxy); err != nil {
			return nil, fmt.Errorf("listen for proxy clients: %w", err)
		}
	}
	if c.Listen.Metrics != "" {
		if h.metrics, err = listenTCP(c.Listen.Metrics); err != nil {
			return nil, fmt.Errorf("listen for metrics: %w", err)
		}
	}
	if c.Listen.Control != "" {
		if h.control, err = control.Listen(c.Listen.Control); err != nil {
			return nil, err
		}
		// Its own user may talk to an edge, so must get through the mode.
		for _, file := range []string{c.Listen.Control, control.LockFile(c.Listen.Control)} {
			if err = giveTo(become, file); err != nil {
				return nil, err
			}
		}
	}
	return h, nil
}

// openAuthority opens the CA in the state directory, which it makes for the
// given user if there is none.
func openAuthority(c *config.Config, become *config.User, ephemeral bool) (*certs.Authority, error) {
	if ephemeral {
		return certs.New()
	}
	if _, err := os.Stat(c.State); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(c.State, 0o700); err != nil {
			return nil, fmt.Errorf("make state directory: %w", err)
		}
		if err := giveTo(become, c.State); err != nil {
			return nil, err
		}
	}
	return certs.Open(c.State)
}

// giveTo changes the owner of path to the user that root becomes.
func giveTo(become *config.User, path string) error {
	if become == nil || os.Geteuid() != 0 {
		return nil
	}
	if err := os.Lchown(path, become.UID, become.GID); err != nil {
		return fmt.Errorf("give to user of the edge: %w", err)
	}
	return nil
}

// loadRoots returns the system's roots with those in files added; nil if
// there are no files.
func loadRoots(files []string) (*x509.CertPool, error) {
	if len(files) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("load system roots: %w", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			return nil, fmt.Errorf("read extra roots: %w", err)
		}
		if !pool.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("read extra roots: no PEM certificates in %s", file)
		}
	}
	return pool, nil
}

// listenTCP listens at an address. Go's listeners speak multipath TCP by
// default, which the kernel's transparent proxying and some middle boxes don't.
func listenTCP(addr string) (*net.TCPListener, error) {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	return ln.(*net.TCPListener), nil
}

// close closes what is open. The audit log is last, so that it gets every
// record.
func (h *held) close(log *slog.Logger) {
	if h.proxy != nil {
		h.proxy.Close()
	}
	if h.metrics != nil {
		h.metrics.Close()
	}
	if h.control != nil {
		h.control.Close()
	}
	if h.audit != nil {
		if err := h.audit.Close(); err != nil {
			log.Error("audit log incomplete", "error", err)
		}
	}
}

package soak_test

import (
	"crypto/x509"
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport/certs"
)

// trusting returns a client whose sandbox was started when the edge gave out
// these certificates.
func (e *edgeProcess) trusting(text []byte) *http.Client {
	c := e.client(time.Minute)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	c.Transport.(*http.Transport).TLSClientConfig.RootCAs = pool
	c.Transport.(*http.Transport).DisableKeepAlives = true
	return c
}

// The CA is replaced in three steps, with a restart after each: whoever was
// started in the overlap is served at every moment, and only who knows nothing
// but the old one is left behind once it is out of force. Ledger: ED-37
func TestRotation(t *testing.T) {
	ca, _, upstream := newOrigin(t)
	e := startEdge(t, ca, upstream)
	state := filepath.Join(e.dir, "state")
	given := func() []byte {
		t.Helper()
		a, err := certs.Open(state)
		if err != nil {
			t.Fatal(err)
		}
		return a.CertificatePEM()
	}
	take := func(step certs.Step) []byte {
		t.Helper()
		if err := certs.Rotate(state, step); err != nil {
			t.Fatal(err)
		}
		e.end()
		e.start(e.proxy)
		return given()
	}
	serves := func(when string, text []byte, want bool) {
		t.Helper()
		resp, err := e.trusting(text).Get("https://" + allowedHost + "/")
		if err == nil {
			resp.Body.Close()
		}
		var unknown x509.UnknownAuthorityError
		if want && err != nil || !want && !errors.As(err, &unknown) {
			t.Errorf("%s: error %v, want served %v", when, err, want)
		}
	}
	before := given()
	serves("before", before, true)
	overlap := take(certs.StepBegin)
	serves("begun, started before", before, true)
	serves("begun", overlap, true)
	switched := take(certs.StepSwitch)
	serves("switched, started before", before, false)
	serves("switched, started in the overlap", overlap, true)
	serves("switched", switched, true)
	after := take(certs.StepRetire)
	serves("retired, started before", before, false)
	serves("retired, started in the overlap", overlap, true)
	serves("retired, started after the switch", switched, true)
	serves("retired", after, true)
}

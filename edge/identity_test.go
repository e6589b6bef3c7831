package edge_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge"
)

// Credentials that are accepted have one reading, net/http's, and survive
// being written again.
//
// Case: B39
func FuzzProxyCredentials(f *testing.F) {
	for _, s := range []string{
		"", "Basic", "Basic ", "basic Ym94OnRva2Vu", "BASIC  Ym94OnRva2Vu ", "Basic Ym94OnRva2Vu=", "Basic Ym94", "Basic Og==",
		"Basic Ym94OmE6Yg==", "Basic \tYm94OnRva2Vu", "Bearer Ym94OnRva2Vu", "Basic Ym94\nOnRva2Vu", "Basic Ym94OgBhAA==", "Basic-x Ym94Og==",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		user, password, ok := edge.ParseBasic(value)
		if !ok {
			return
		}
		if strings.Contains(user, ":") {
			t.Errorf("%q: user %q holds a colon", value, user)
		}
		scheme, encoded, _ := strings.Cut(value, " ")
		r := &http.Request{Header: http.Header{"Authorization": {scheme + " " + strings.TrimSpace(encoded)}}}
		u, p, httpOK := r.BasicAuth()
		if !httpOK || u != user || p != password {
			t.Errorf("%q: %q %q; net/http reads %q %q %v", value, user, password, u, p, httpOK)
		}
		again := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
		if u, p, ok := edge.ParseBasic(again); !ok || u != user || p != password {
			t.Errorf("%q: %q %q %v after it was written again", value, u, p, ok)
		}
	})
}

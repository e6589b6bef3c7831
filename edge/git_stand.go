package edge

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
)

// Headers that forges take credentials in.
const (
	authorizationKey = "Authorization"
	privateTokenKey  = "Private-Token" // GitLab's
)

// stand is what a request carries in place of a credential.
type stand struct {
	value  string // the placeholder, or the token to read
	header string
	scheme string // of Authorization, as the client wrote it
}

var errTwoCredentials = errors.New("more than one credential for a granted repository")

// standIn takes the one credential for which is says that it stands for
// another off a header; nil if there is none. Beside it there may be no other.
func standIn(h http.Header, is func(password string) bool) (*stand, error) {
	var found *stand
	seen := 0
	for key, values := range h {
		name := http.CanonicalHeaderKey(strings.ReplaceAll(key, "_", "-"))
		if name != authorizationKey && name != privateTokenKey {
			continue
		}
		for _, value := range values {
			seen++
			s := &stand{header: name}
			s.scheme, s.value = credentialIn(name, value)
			if s.value != "" && is(s.value) {
				found = s
			}
		}
	}
	if found == nil {
		return nil, nil
	}
	if seen > 1 {
		return nil, errTwoCredentials
	}
	for key := range h {
		if http.CanonicalHeaderKey(strings.ReplaceAll(key, "_", "-")) == found.header {
			delete(h, key)
		}
	}
	return found, nil
}

// credentialIn returns the scheme and password, or token, of a header's value.
func credentialIn(header, value string) (scheme, password string) {
	value = strings.Trim(value, " \t")
	if header == privateTokenKey {
		return "", value
	}
	scheme, rest, _ := strings.Cut(value, " ")
	rest = strings.Trim(rest, " \t")
	switch strings.ToLower(scheme) {
	case "bearer", "token":
		return scheme, rest
	case "basic":
		text, err := base64.StdEncoding.DecodeString(rest)
		if err != nil {
			return scheme, ""
		}
		_, password, _ := strings.Cut(string(text), ":")
		return scheme, password
	}
	return scheme, ""
}

// replace writes a credential in the form that the stand-in had.
func (s *stand) replace(h http.Header, username, token string) {
	value := token
	switch {
	case s.header == privateTokenKey:
	case strings.EqualFold(s.scheme, "basic"):
		value = "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+token))
	default:
		value = s.scheme + " " + token
	}
	h[s.header] = []string{value}
}

func hexDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

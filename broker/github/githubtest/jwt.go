package githubtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// longest is how far a JWT's end may lie ahead.
const longest = 10 * time.Minute

// asApp lets only requests with the App's JWT through.
func (s *Server) asApp(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if problem := s.checkJWT(r.Header.Get("Authorization")); problem != "" {
			fail(w, http.StatusUnauthorized, problem)
			return
		}
		h(w, r)
	}
}

// checkJWT returns what GitHub says of a JWT, or "".
func (s *Server) checkJWT(header string) string {
	const undecodable = "A JSON web token could not be decoded"
	text, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return "Requires authentication"
	}
	signed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return undecodable
	}
	payload, err := signed.Verify(s.config.Key)
	if err != nil {
		return undecodable
	}
	var claims struct {
		Iss string `json:"iss"` // a number doesn't decode
		Iat int64  `json:"iat"` // nor does a fraction
		Exp int64  `json:"exp"`
	}
	now := s.config.Now()
	switch err := json.Unmarshal(payload, &claims); {
	case err != nil:
		return undecodable
	case claims.Iss != s.config.AppID:
		return "Integration not found"
	case time.Unix(claims.Iat, 0).After(now):
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case !time.Unix(claims.Exp, 0).After(now):
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case time.Unix(claims.Exp, 0).After(now.Add(longest)):
		return "'Expiration time' claim ('exp') is too far in the future"
	}
	return ""
}

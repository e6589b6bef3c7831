package vaulttest

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// wrapped is an answer that waits to be opened once.
type wrapped struct {
	answer answer
	origin string
}

func (s *Server) wrap(q *request, a answer) answer {
	id := "hvs.wrap" + random()
	s.wraps[id] = &wrapped{a, q.path}
	return answer{http.StatusOK, map[string]any{"wrap_info": map[string]any{
		"token": id, "ttl": 60, "creation_time": time.Now().UTC().Format(time.RFC3339Nano), "creation_path": q.path,
	}}}
}

// wrapping needs no token but the wrapping one.
func (s *Server) wrapping(q *request) answer {
	id := q.text("token")
	if id == "" {
		id = q.Header.Get("X-Vault-Token")
	}
	held := s.wraps[id]
	if held == nil {
		return refuse(http.StatusBadRequest, "wrapping token is not valid or does not exist")
	}
	if path.Base(q.path) == "lookup" {
		return data(map[string]any{"creation_path": held.origin, "creation_ttl": 60})
	}
	delete(s.wraps, id)
	return held.answer
}

// role keeps roles, hands out the ids of AppRole and the keys of the methods
// that take tokens of others.
func (s *Server) role(q *request) answer {
	if q.Method != http.MethodGet && !strings.HasSuffix(q.path, "/secret-id") {
		if q.body["role_id"] == nil {
			q.body["role_id"] = random()
		}
		s.roles[q.path] = q.body
		return done
	}
	at, last := path.Split(q.path)
	at = strings.TrimSuffix(at, "/")
	switch r := s.roles[at]; {
	case r == nil:
		return refuse(http.StatusNotFound, "unknown role")
	case last == "role-id":
		return data(map[string]any{"role_id": r["role_id"]})
	case last == "secret-id":
		id := random()
		s.secretIDs[id] = at
		return data(map[string]any{"secret_id": id})
	default:
		return refuse(http.StatusNotFound, "unsupported path")
	}
}

func (s *Server) login(q *request) answer {
	at := strings.TrimSuffix(q.path, "/login")
	var name string
	switch path.Base(at) {
	case "approle":
		name = s.secretIDs[q.text("secret_id")]
		if r := s.roles[name]; r == nil || r["role_id"] != q.text("role_id") {
			return refuse(http.StatusBadRequest, "invalid role or secret ID")
		}
	case "jwt", "kubernetes":
		name = at + "/role/" + q.text("role")
		if s.roles[name] == nil || !s.verifies(at, q.text("jwt")) {
			return refuse(http.StatusBadRequest, "error validating token")
		}
	case "cert":
		name = at + "/certs/" + q.text("name")
		if !s.presents(q, name) {
			return refuse(http.StatusBadRequest, "invalid certificate or no client certificate supplied")
		}
	default:
		return refuse(http.StatusNotFound, "no handler for route")
	}
	settings := &request{body: s.roles[name]}
	k := &token{
		displayName: path.Base(at), metadata: map[string]string{"role_name": path.Base(name)},
		ttl: settings.duration("token_ttl"), maxTTL: settings.duration("token_max_ttl"),
	}
	if k.ttl == 0 {
		k.ttl = time.Hour
	}
	k.policies = strings.Split(settings.text("token_policies"), ",")
	return s.make(k)
}

// verifies checks a token's signature and times with the method's key.
func (s *Server) verifies(at, raw string) bool {
	block, _ := pem.Decode([]byte((&request{body: s.roles[at+"/config"]}).text("jwt_validation_pubkeys")))
	if block == nil {
		return false
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return false
	}
	parsed, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return false
	}
	var claims jwt.Claims
	return parsed.Claims(key, &claims) == nil && claims.Validate(jwt.Expected{Time: time.Now()}) == nil
}

// presents reports whether the connection proved the role's certificate.
func (s *Server) presents(q *request, name string) bool {
	block, _ := pem.Decode([]byte((&request{body: s.roles[name]}).text("certificate")))
	return block != nil && q.TLS != nil && len(q.TLS.PeerCertificates) > 0 &&
		bytes.Equal(q.TLS.PeerCertificates[0].Raw, block.Bytes)
}

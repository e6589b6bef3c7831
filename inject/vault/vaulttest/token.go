package vaulttest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// token is a service token.
type token struct {
	parent      string
	policies    []string
	displayName string
	metadata    map[string]string
	ttl, maxTTL time.Duration // 0: for ever
	made, ends  time.Time
}

// grant extends the token by its time to live, but not past its maximum, and
// returns how long it lives now.
func (k *token) grant(now time.Time) time.Duration {
	if k.ttl == 0 {
		return 0
	}
	k.ends = now.Add(k.ttl)
	if limit := k.made.Add(k.maxTTL); k.maxTTL > 0 && k.ends.After(limit) {
		k.ends = limit
	}
	// Whole seconds, rounded as Vault does.
	return k.ends.Sub(now).Truncate(time.Second)
}

// lookup returns the live token named id, or nil.
func (s *Server) lookup(id string) *token {
	k := s.tokens[id]
	if k == nil || !k.ends.IsZero() && time.Now().After(k.ends) {
		s.revokeToken(id)
		return nil
	}
	return k
}

// revokeToken revokes a token with its children and leases.
func (s *Server) revokeToken(id string) {
	delete(s.tokens, id)
	for leaseID, l := range s.leases {
		if l.token == id {
			delete(s.leases, leaseID)
		}
	}
	for child, k := range s.tokens {
		if id != "" && k.parent == id {
			s.revokeToken(child)
		}
	}
}

// make makes a token and returns the answer that hands it out.
func (s *Server) make(k *token) answer {
	id := "hvs." + random()
	k.made = time.Now()
	lives := k.grant(k.made)
	s.tokens[id] = k
	return k.auth(id, lives)
}

func (k *token) auth(id string, lives time.Duration) answer {
	return answer{http.StatusOK, map[string]any{"auth": map[string]any{
		"client_token": id, "accessor": "a" + id, "policies": k.policies, "metadata": k.metadata,
		"lease_duration": int(lives.Seconds()), "renewable": k.ttl > 0,
	}}}
}

var pathRule = regexp.MustCompile(`path\s+"([^"]+)"`)

// basic is what each token may do to itself, from Vault's default policy.
var basic = []string{
	"auth/token/lookup-self", "auth/token/renew-self", "auth/token/revoke-self",
	"sys/leases/renew", "sys/leases/lookup", "sys/internal/ui/mounts/*",
}

// allows reports whether a policy of k names path.
func (s *Server) allows(k *token, path string) bool {
	if slices.Contains(k.policies, "root") {
		return true
	}
	rules := slices.Clone(basic)
	for _, p := range k.policies {
		for _, m := range pathRule.FindAllStringSubmatch(s.policies[p], -1) {
			rules = append(rules, m[1])
		}
	}
	return slices.ContainsFunc(rules, func(rule string) bool {
		prefix, glob := strings.CutSuffix(rule, "*")
		return rule == path || glob && strings.HasPrefix(path, prefix)
	})
}

func (s *Server) tokenRequest(q *request) answer {
	switch strings.TrimPrefix(q.path, "auth/token/") {
	case "create":
		return s.createToken(q)
	case "lookup-self":
		ttl := 0
		if !q.token.ends.IsZero() {
			ttl = int(time.Until(q.token.ends).Seconds())
		}
		return data(map[string]any{"id": q.id, "ttl": ttl, "renewable": q.token.ttl > 0, "policies": q.token.policies})
	case "renew-self":
		lives := q.token.grant(time.Now())
		if lives <= 0 {
			return refuse(http.StatusBadRequest, "lease expired")
		}
		return q.token.auth(q.id, lives)
	case "revoke-self":
		s.revokeToken(q.id)
		return done
	default:
		return refuse(http.StatusNotFound, "unsupported path")
	}
}

func (s *Server) createToken(q *request) answer {
	k := &token{
		parent: q.id, policies: q.token.policies,
		displayName: "token-" + q.text("display_name"),
		ttl:         q.duration("ttl"), maxTTL: q.duration("explicit_max_ttl"),
		metadata: map[string]string{},
	}
	if k.ttl == 0 {
		k.ttl = 768 * time.Hour
	}
	if names, ok := q.body["policies"].([]any); ok && len(names) > 0 {
		k.policies = nil
		for _, n := range names {
			k.policies = append(k.policies, n.(string))
		}
	}
	meta, _ := q.body["meta"].(map[string]any)
	for key, v := range meta {
		k.metadata[key], _ = v.(string)
	}
	return s.make(k)
}

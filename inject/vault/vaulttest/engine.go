package vaulttest

import (
	"maps"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// mount is a mounted secrets engine: "kv", or "database", which issues.
type mount struct {
	engine   string
	version  string
	ttl, max time.Duration // of what is issued
	secrets  map[string][]*version
}

// version is one version of a key/value secret.
type version struct {
	fields  map[string]any
	deleted bool
}

// lease is something issued.
type lease struct {
	token     string
	ttl       time.Duration
	made      time.Time
	max, ends time.Time
}

// lease returns the lease named id while it is in force, else nil.
func (s *Server) lease(id string) *lease {
	l := s.leases[id]
	if l == nil || time.Now().After(l.ends) {
		return nil
	}
	return l
}

func (s *Server) system(q *request) answer {
	sub := strings.TrimPrefix(q.path, "sys/")
	switch {
	case strings.HasPrefix(sub, "mounts/"):
		return s.mountRequest(q, strings.TrimPrefix(sub, "mounts/")+"/")
	case strings.HasPrefix(sub, "auth/"):
		return done // every method is there
	case strings.HasPrefix(sub, "policies/acl/"):
		s.policies[path.Base(sub)] = q.text("policy")
		return done
	case strings.HasPrefix(sub, "internal/ui/mounts/"):
		return s.describe(q, strings.TrimPrefix(sub, "internal/ui/mounts/"))
	case strings.HasPrefix(sub, "leases/"):
		return s.leaseRequest(q, path.Base(sub))
	default:
		return refuse(http.StatusNotFound, "unsupported path")
	}
}

func (s *Server) mountRequest(q *request, at string) answer {
	if q.Method == http.MethodDelete {
		delete(s.mounts, at)
		return done
	}
	m := &mount{engine: q.text("type"), secrets: map[string][]*version{}}
	if options, ok := q.body["options"].(map[string]any); ok {
		m.version, _ = options["version"].(string)
	}
	if config, ok := q.body["config"].(map[string]any); ok {
		limits := &request{body: config}
		m.ttl, m.max = limits.duration("default_lease_ttl"), limits.duration("max_lease_ttl")
	}
	s.mounts[at] = m
	return done
}

// describe tells about the mount of a path whoever may read below it.
func (s *Server) describe(q *request, full string) answer {
	at, m := s.find(full)
	if m == nil {
		return refuse(http.StatusForbidden, "preflight capability check returned 403")
	}
	var options map[string]any
	if m.version != "" {
		options = map[string]any{"version": m.version}
	}
	if rest := strings.TrimPrefix(full, at); !s.allows(q.token, full) && !s.allows(q.token, at+"data/"+rest) {
		return refuse(http.StatusForbidden, "preflight capability check returned 403")
	}
	return data(map[string]any{"path": at, "type": m.engine, "options": options})
}

func (s *Server) find(full string) (string, *mount) {
	for at, m := range s.mounts {
		if strings.HasPrefix(full+"/", at) {
			return at, m
		}
	}
	return "", nil
}

func (s *Server) secrets(q *request) answer {
	at, m := s.find(q.path)
	if m == nil {
		return refuse(http.StatusNotFound, "no handler for route")
	}
	rest := strings.TrimPrefix(q.path, at)
	switch {
	case m.engine != "kv":
		return s.issue(q, m)
	case m.version == "2":
		below, ok := strings.CutPrefix(rest, "data/")
		if !ok {
			a := answer{http.StatusNotFound, map[string]any{"data": nil, "warnings": []string{"Invalid path for a versioned K/V secrets engine."}}}
			return a
		}
		return m.versioned(q, below)
	default:
		return m.plain(q, rest)
	}
}

func (m *mount) plain(q *request, name string) answer {
	switch q.Method {
	case http.MethodPut, http.MethodPost:
		m.secrets[name] = []*version{{fields: q.body}}
		return done
	case http.MethodDelete:
		delete(m.secrets, name)
		return done
	}
	held := m.secrets[name]
	if held == nil {
		return answer{http.StatusNotFound, map[string]any{"errors": []string{}}}
	}
	a := data(held[0].fields)
	a.body["lease_duration"] = 2764800 // a hint; there is no lease
	return a
}

func (m *mount) versioned(q *request, name string) answer {
	held := m.secrets[name]
	switch q.Method {
	case http.MethodPut, http.MethodPost:
		fields, _ := q.body["data"].(map[string]any)
		m.secrets[name] = append(held, &version{fields: fields})
		return data(metadata(len(held) + 1))
	case http.MethodDelete:
		if len(held) > 0 {
			held[len(held)-1].deleted = true
		}
		return done
	}
	if len(held) == 0 {
		return answer{http.StatusNotFound, map[string]any{"errors": []string{}}}
	}
	last, about := held[len(held)-1], metadata(len(held))
	if last.deleted {
		about["deletion_time"] = time.Now().UTC().Format(time.RFC3339Nano)
		a := data(map[string]any{"data": nil, "metadata": about})
		a.status = http.StatusNotFound
		return a
	}
	return data(map[string]any{"data": maps.Clone(last.fields), "metadata": about})
}

func metadata(number int) map[string]any {
	return map[string]any{
		"version": number, "created_time": time.Now().UTC().Format(time.RFC3339Nano),
		"deletion_time": "", "destroyed": false, "custom_metadata": nil,
	}
}

// issue issues credentials under a lease of the token.
func (s *Server) issue(q *request, m *mount) answer {
	id := q.path + "/" + random()
	now := time.Now()
	l := &lease{token: q.id, ttl: m.ttl, made: now, max: now.Add(m.max), ends: now.Add(m.ttl)}
	s.leases[id] = l
	a := data(map[string]any{"username": "v-" + random(), "password": random()})
	a.body["lease_id"], a.body["lease_duration"], a.body["renewable"] = id, int(m.ttl.Seconds()), m.max > m.ttl
	return a
}

func (s *Server) leaseRequest(q *request, verb string) answer {
	id := q.text("lease_id")
	l := s.lease(id)
	if l == nil {
		return refuse(http.StatusBadRequest, "invalid lease")
	}
	now := time.Now()
	switch verb {
	case "lookup":
		return data(map[string]any{"id": id, "ttl": int(l.ends.Sub(now).Seconds()), "renewable": l.max.After(l.ends)})
	case "renew":
		l.ends = now.Add(l.ttl)
		if l.ends.After(l.max) {
			l.ends = l.max
		}
		return answer{http.StatusOK, map[string]any{
			"lease_id": id, "renewable": true, "lease_duration": int(l.ends.Sub(now).Seconds()), "data": nil,
		}}
	case "revoke":
		delete(s.leases, id)
		return done
	}
	return refuse(http.StatusNotFound, "unsupported path "+strconv.Quote(verb))
}

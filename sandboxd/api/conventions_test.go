package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/account"
)

var requestID = regexp.MustCompile(`^req_[0-9A-HJKMNP-TV-Z]{26}$`)

// expect holds an answer to the conventions: the shape of errors, a request id
// on everything.
func (r reply) expect(t *testing.T, what string, status int, code string) {
	t.Helper()
	if r.Status != status || r.code() != code {
		t.Errorf("%s: %d %s, want %d %s", what, r.Status, r.Text, status, code)
	}
	id := r.Header.Get("X-Request-Id")
	if !requestID.MatchString(id) {
		t.Errorf("%s: X-Request-Id %q", what, id)
	}
	if status < 400 {
		return
	}
	if r.Header.Get("Content-Type") != "application/json" || r.text("error", "request_id") != id || r.text("error", "message") == "" || len(r.JSON) != 1 {
		t.Errorf("%s: %s %s", what, r.Header, r.Text)
	}
}

// Ledger: AP-1, AP-2, AP-3
func TestConventions(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.create(t, `{"name":"a","provider":"runs"}`)
	body := `{"name":"a","provider":"runs"}`
	cases := []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code                     string
	}{
		{"fine", "GET", path, "", nil, 200, ""},
		{"HEAD", "HEAD", path, "", nil, 200, ""},
		{"no key", "GET", path, "", []string{"Authorization", ""}, 401, "unauthenticated"},
		{"another scheme", "GET", path, "", []string{"Authorization", "Basic " + s.admin}, 401, "unauthenticated"},
		{"no key in the header", "GET", path, "", []string{"Authorization", "Bearer"}, 401, "unauthenticated"},
		{"a key that nobody has", "GET", path, "", []string{"Authorization", "Bearer sp_" + strings.Repeat("0", 52)}, 401, "unauthenticated"},
		{"a key in another case", "GET", path, "", []string{"Authorization", "Bearer " + strings.ToUpper(s.admin)}, 401, "unauthenticated"},
		{"scheme in another case", "GET", path, "", []string{"Authorization", "bearer " + s.admin}, 200, ""},
		{"no such path", "GET", "/v1/nothing", "", nil, 404, "not_found"},
		{"no such path, no key", "GET", "/v1/nothing", "", []string{"Authorization", ""}, 404, "not_found"},
		{"the root", "GET", "/", "", nil, 404, "not_found"},
		{"a path below", "GET", path + "/more", "", nil, 404, "not_found"},
		{"a trailing slash", "GET", path + "/", "", nil, 404, "not_found"},
		{"two slashes", "GET", "/v1//environments", "", nil, 404, "not_found"},
		{"dots", "GET", "/v1/x/../environments", "", nil, 404, "not_found"},
		{"an escaped slash", "GET", "/v1/environments/a%2Fb", "", nil, 404, "not_found"},
		{"another method", "PUT", path, body, nil, 405, "method_not_allowed"},
		{"another method of a list", "DELETE", "/v1/environments", "", nil, 405, "method_not_allowed"},
		{"TRACE", "TRACE", path, "", nil, 405, "method_not_allowed"},
		{"form", "POST", "/v1/environments", body, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		{"another charset", "POST", "/v1/environments", body, []string{"Content-Type", "application/json; charset=latin1"}, 415, "unsupported_media_type"},
		{"unreadable type", "POST", "/v1/environments", body, []string{"Content-Type", "json"}, 415, "unsupported_media_type"},
		{"compressed", "POST", "/v1/environments", body, []string{"Content-Encoding", "gzip"}, 415, "unsupported_media_type"},
		{"with a charset", "POST", "/v1/environments", body, []string{"Content-Type", "application/json; charset=UTF-8"}, 201, ""},
		{"without a type", "POST", "/v1/environments", body, []string{"Content-Type", ""}, 201, ""},
		{"too large", "POST", "/v1/environments", `{"name":"` + strings.Repeat("a", 1<<20) + `"}`, nil, 413, "payload_too_large"},
		{"as large as allowed", "POST", "/v1/environments", body + strings.Repeat(" ", 1<<20-len(body)), nil, 201, ""},
		{"no body", "POST", "/v1/environments", "", nil, 400, "invalid_request"},
		{"not JSON", "POST", "/v1/environments", "{", nil, 400, "invalid_request"},
		{"two values", "POST", "/v1/environments", body + body, nil, 400, "invalid_request"},
		{"a list", "POST", "/v1/environments", "[]", nil, 400, "invalid_request"},
		{"null", "POST", "/v1/environments", "null", nil, 400, "invalid_request"},
		{"not UTF-8", "POST", "/v1/environments", "{\"name\":\"\xff\",\"provider\":\"runs\"}", nil, 400, "invalid_request"},
		{"unknown parameter", "GET", "/v1/environments?x=1", "", nil, 400, "invalid_request"},
		{"unknown parameter of a write", "POST", "/v1/environments?x=1", body, nil, 400, "invalid_request"},
		{"parameter of another operation", "GET", path + "?verify=true", "", nil, 400, "invalid_request"},
		{"parameter in another case", "GET", "/v1/environments?Limit=1", "", nil, 400, "invalid_request"},
		{"repeated parameter", "GET", "/v1/environments?limit=1&limit=2", "", nil, 400, "invalid_request"},
		{"empty parameter", "GET", "/v1/environments?limit=", "", nil, 400, "invalid_request"},
		{"unreadable query", "GET", "/v1/environments?limit=1;after=2", "", nil, 400, "invalid_request"},
		{"not a number", "GET", "/v1/environments?limit=ten", "", nil, 400, "invalid_request"},
		{"limit 0", "GET", "/v1/environments?limit=0", "", nil, 400, "invalid_request"},
		{"limit 1", "GET", "/v1/environments?limit=1", "", nil, 200, ""},
		{"limit 100", "GET", "/v1/environments?limit=100", "", nil, 200, ""},
		{"limit 101", "GET", "/v1/environments?limit=101", "", nil, 400, "invalid_request"},
		{"verify maybe", "POST", "/v1/environments?verify=maybe", body, nil, 400, "invalid_request"},
		{"a body for a read", "GET", path, body, nil, 200, ""},
		{"odd If-Match", "PATCH", path, "{}", []string{"If-Match", "1"}, 400, "invalid_request"},
		{"odd Idempotency-Key", "POST", "/v1/environments", body, []string{"Idempotency-Key", "ä"}, 400, "invalid_request"},
		{"long Idempotency-Key", "POST", "/v1/environments", body, []string{"Idempotency-Key", strings.Repeat("k", 256)}, 400, "invalid_request"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := s.call(t, c.method, c.path, c.body, c.headers...)
			if c.method == "HEAD" || c.method == "TRACE" && r.Text == "" {
				c.code = ""
			}
			r.expect(t, c.name, c.status, c.code)
			switch c.status {
			case http.StatusUnauthorized:
				if !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("WWW-Authenticate %q", r.Header.Get("WWW-Authenticate"))
				}
			case http.StatusMethodNotAllowed:
				if r.Header.Get("Allow") == "" {
					t.Error("no Allow")
				}
			}
		})
	}
}

// What wants no key is public; nothing else is.
func TestPublicDocuments(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, path := range []string{"/v1/openapi.json", "/v1/schemas/network_policy.json", "/v1/schemas/fixtures.json", "/healthz"} {
		s.call(t, "GET", path, "", "Authorization", "").expect(t, path, 200, "")
		s.call(t, "POST", path, "{}", "Authorization", "").expect(t, path, 405, "method_not_allowed")
	}
	for path, item := range s.api.OpenAPI().Paths {
		for method, op := range map[string]bool{"GET": item.Get != nil, "POST": item.Post != nil, "PATCH": item.Patch != nil, "DELETE": item.Delete != nil} {
			if op {
				s.call(t, method, path, "{}", "Authorization", "").expect(t, method+" "+path, 401, "unauthenticated")
			}
		}
	}
}

// Ledger: AP-2
func TestRoleMatrix(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.create(t, `{"name":"a","provider":"runs","setup":{"script":"true"}}`)
	keys := map[account.Role]string{account.Viewer: s.key(t, account.Viewer), account.Member: s.key(t, account.Member), account.Admin: s.key(t, account.Admin)}
	run := path + "/setup_runs/srun_none"
	cases := []struct {
		method, path, body string
		least              account.Role
		status             int // for whoever may
	}{
		{"GET", "/v1/environments", "", account.Viewer, 200},
		{"GET", path, "", account.Viewer, 200},
		{"GET", "/v1/sandbox_providers", "", account.Viewer, 200},
		{"GET", "/v1/environment_setup_templates", "", account.Viewer, 200},
		{"GET", path + "/setup_runs", "", account.Viewer, 200},
		{"GET", run, "", account.Viewer, 404},
		{"GET", run + "/log", "", account.Viewer, 404},
		{"POST", "/v1/network_policies:evaluate", `{"network_policy":{},"hosts":["a.test"]}`, account.Viewer, 200},
		{"POST", "/v1/network_policies:explain", `{"network_policy":{},"host":"a.test"}`, account.Viewer, 200},
		{"POST", "/v1/network_policies:lint", `{"network_policy":{}}`, account.Viewer, 200},
		{"POST", "/v1/network_policies:diff", `{"old":{},"new":{}}`, account.Viewer, 200},
		{"POST", "/v1/network_policies:equal", `{"old":{},"new":{}}`, account.Viewer, 200},
		{"POST", run + "/cancel", "", account.Member, 404},
		{"POST", "/v1/environments/env_none/setup_runs", "", account.Member, 404},
		{"POST", "/v1/environments", `{"name":"b","provider":"runs"}`, account.Admin, 201},
		{"PATCH", path, `{}`, account.Admin, 200},
		{"DELETE", "/v1/environments/env_none", "", account.Admin, 404},
		{"GET", "/v1/api_keys", "", account.Admin, 200},
		{"POST", "/v1/api_keys", `{"role":"viewer"}`, account.Admin, 201},
		{"DELETE", "/v1/api_keys/key_none", "", account.Admin, 404},
	}
	covered := 0
	for _, c := range cases {
		for _, role := range account.Roles() {
			r := s.call(t, c.method, c.path, c.body, "Authorization", "Bearer "+keys[role])
			want, code := c.status, ""
			if want == 404 {
				code = "not_found"
			}
			if !role.May(c.least) {
				want, code = 403, "forbidden"
			}
			r.expect(t, string(role)+" "+c.method+" "+c.path, want, code)
		}
		covered++
	}
	if n := len(operationIDs(s)); covered != n {
		t.Errorf("%d operations in the matrix, the document has %d", covered, n)
	}
}

func operationIDs(s *service) []string {
	var ids []string
	for _, item := range s.api.OpenAPI().Paths {
		if item.Get != nil {
			ids = append(ids, item.Get.OperationID)
		}
		if item.Post != nil {
			ids = append(ids, item.Post.OperationID)
		}
		if item.Patch != nil {
			ids = append(ids, item.Patch.OperationID)
		}
		if item.Delete != nil {
			ids = append(ids, item.Delete.OperationID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Ledger: EV-30
func TestOthersFindNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.create(t, `{"name":"a","provider":"runs","setup":{"script":"true"}}`)
	run := s.call(t, "POST", path+"/setup_runs", "")
	runPath := path + "/setup_runs/" + run.text("setup_run_id")
	mine := s.call(t, "GET", "/v1/api_keys", "")
	keyID, _ := mine.JSON["data"].([]any)[0].(map[string]any)["key_id"].(string)
	stranger := []string{"Authorization", "Bearer " + s.stranger(t)}
	for _, c := range [][3]string{
		{"GET", path, ""}, {"PATCH", path, "{}"}, {"DELETE", path, ""},
		{"POST", path + "/setup_runs", ""}, {"GET", path + "/setup_runs", ""},
		{"GET", runPath, ""}, {"GET", runPath + "/log", ""}, {"POST", runPath + "/cancel", ""},
		{"DELETE", "/v1/api_keys/" + keyID, ""},
	} {
		r := s.call(t, c[0], c[1], c[2], stranger...)
		r.expect(t, c[0]+" "+c[1], 404, "not_found")
	}
	for _, path := range []string{"/v1/environments", "/v1/api_keys?limit=1"} {
		r := s.call(t, "GET", path, "", stranger...)
		if strings.Contains(r.Text, keyID) || strings.Contains(r.Text, "env_") {
			t.Errorf("%s shows %s", path, r.Text)
		}
	}
	// A run isn't found under another environment of its own organisation.
	other, _ := s.create(t, `{"name":"b","provider":"runs"}`)
	s.call(t, "GET", other+"/setup_runs/"+run.text("setup_run_id"), "").expect(t, "another environment's run", 404, "not_found")
}

func TestKeysLiveAndEnd(t *testing.T) {
	t.Parallel()
	s := start(t)
	made := s.call(t, "POST", "/v1/api_keys", `{"name":"ci","role":"viewer","expires_at":"2999-01-01T00:00:00+01:00"}`)
	made.expect(t, "create", 201, "")
	if made.text("expires_at") != "2998-12-31T23:00:00.000Z" {
		t.Errorf("expires_at %q", made.text("expires_at"))
	}
	as := []string{"Authorization", "Bearer " + made.text("key")}
	s.call(t, "GET", "/v1/environments", "", as...).expect(t, "use", 200, "")
	list := s.call(t, "GET", "/v1/api_keys", "")
	if strings.Contains(list.Text, made.text("key")) || !strings.Contains(list.Text, made.text("key_id")) {
		t.Errorf("list: %s", list.Text)
	}
	for range 2 {
		s.call(t, "DELETE", "/v1/api_keys/"+made.text("key_id"), "").expect(t, "revoke", 204, "")
		s.call(t, "GET", "/v1/environments", "", as...).expect(t, "use of a revoked key", 401, "unauthenticated")
	}
	for _, body := range []string{`{}`, `{"role":"owner"}`, `{"role":"viewer","expires_at":"tomorrow"}`, `{"role":"viewer","expires_at":"2001-01-01T00:00:00Z"}`, `{"role":"viewer","name":"` + strings.Repeat("ä", 257) + `"}`, `{"role":"viewer","x":1}`, `{"role":null}`} {
		s.call(t, "POST", "/v1/api_keys", body).expect(t, body, 400, "invalid_request")
	}
}

// A fault of the service is told by its request id alone.
func TestInternalFaultsSayNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.create(t, `{"name":"a","provider":"runs"}`)
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "GET", path, "")
	r.expect(t, "a closed store", 500, "internal")
	if strings.Contains(r.Text, "sql") || strings.Contains(r.Text, "closed") {
		t.Errorf("the answer tells %s", r.Text)
	}
	if !strings.Contains(s.log.String(), r.text("error", "request_id")) || !strings.Contains(s.log.String(), "closed") {
		t.Errorf("the log tells %s", s.log)
	}
	s.broken = true
}

package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/api"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// notYet are the codes that no operation of this API can give, with the reason.
var notYet = map[fault.Code]string{
	fault.Conflict:                   "sessions: stopping one that is starting",
	fault.SandboxStateLost:           "sessions: resuming one whose state is gone",
	fault.ArtifactMissing:            "sessions: an output whose file is gone",
	fault.EnvironmentNotVerified:     "sessions: the start gate",
	fault.EnvironmentInvalid:         "sessions: a range that is checked when compute starts",
	fault.SetupFallbackUnsafe:        "sessions: setup on a session's own compute",
	fault.SecretNotFound:             "sessions: secrets",
	fault.SecretInjectionUnavailable: "sessions: secrets",
	fault.RefTemplateUnresolved:      "sessions: git mounts",
	fault.RateLimited:                "sessions: starts a minute",
	fault.CapabilityNotSupported:     "sessions: a live policy of a provider that can't",
	fault.SandboxCapacityUnavailable: "sessions: a synchronous start",
	fault.SandboxProvisionTimeout:    "sessions: a synchronous start",
}

// Ledger: AP-4
func TestEveryCodeIsProduced(t *testing.T) {
	t.Parallel()
	s := start(t)
	body := `{"name":"a","provider":"runs","setup":{"script":"true"}}`
	path, _ := s.create(t, body)
	run := s.call(t, "POST", path+"/setup_runs", "", "Idempotency-Key", "k")
	runPath := path + "/setup_runs/" + run.text("setup_run_id")
	produce := map[fault.Code]func() reply{
		fault.InvalidRequest:  func() reply { return s.call(t, "POST", "/v1/environments", "{}") },
		fault.Unauthenticated: func() reply { return s.call(t, "GET", path, "", "Authorization", "") },
		fault.Forbidden: func() reply {
			return s.call(t, "DELETE", path, "", "Authorization", "Bearer "+s.key(t, account.Member))
		},
		fault.NotFound:             func() reply { return s.call(t, "GET", "/v1/environments/env_x", "") },
		fault.MethodNotAllowed:     func() reply { return s.call(t, "PUT", path, "") },
		fault.IdempotencyConflict:  func() reply { return s.call(t, "POST", "/v1/environments", body, "Idempotency-Key", "k") },
		fault.SetupRunInFlight:     func() reply { return s.call(t, "POST", path+"/setup_runs", "") },
		fault.PreconditionFailed:   func() reply { return s.call(t, "PATCH", path, "{}", "If-Match", `"7"`) },
		fault.PayloadTooLarge:      func() reply { return s.call(t, "PATCH", path, strings.Repeat(" ", api.MaxBody+1)) },
		fault.UnsupportedMediaType: func() reply { return s.call(t, "PATCH", path, "{}", "Content-Type", "text/plain") },
		fault.PreconditionRequired: func() reply { return s.call(t, "PATCH", path, `{"privileged":true}`) },
		fault.SetupRunLimit: func() reply {
			var last reply
			for range 5 {
				other, _ := s.create(t, body)
				last = s.call(t, "POST", other+"/setup_runs", "")
			}
			return last
		},
		fault.SetupRunFinished: func() reply {
			s.call(t, "POST", runPath+"/cancel", "")
			return s.call(t, "POST", runPath+"/cancel", "")
		},
	}
	for _, code := range codes(t) {
		if f, ok := produce[code]; ok {
			f().expect(t, string(code), api.Status(code), string(code))
		} else if notYet[code] == "" && code != fault.Internal { // see TestInternalFaultsSayNothing
			t.Errorf("nothing produces %s", code)
		}
		if produce[code] != nil && notYet[code] != "" {
			t.Errorf("%s is produced: take it off the list", code)
		}
		if code != fault.Internal && api.Status(code) == 500 {
			t.Errorf("%s has no status", code)
		}
	}
}

// codes are the constants of package fault, read from its source so that none
// can be left out here.
func codes(t *testing.T) []fault.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../fault/fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []fault.Code
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Code" {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, fault.Code(text))
			}
		}
		return true
	})
	if len(all) < 27 {
		t.Errorf("only %d codes found", len(all))
	}
	return all
}

package edge_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// mint is an issuer whose tokens say what they are for.
type mint struct{ host, api policy.Host }

func (m mint) Host() policy.Host { return m.host }

func (m mint) API() broker.API {
	return broker.API{Host: m.api, Style: broker.GitHubStyle}
}

func (m mint) Issue(_ context.Context, r broker.Request) (broker.Credential, error) {
	return broker.Credential{Username: "x", Password: secret.NewValue([]byte("minted-to-" + string(r.Access) + "-" + r.Repository.String()))}, nil
}

// seen is a request as a forge got it.
type seen struct{ path, authorization, body string }

// gitBed is a bed with a forge at git.allowed.test, whose API is at
// api.allowed.test, and which notes what arrives.
type gitBed struct {
	*bed
	mu   sync.Mutex
	seen []seen
}

const (
	gitHost = "git.allowed.test"
	apiHost = "api.allowed.test"
)

// prepareGitBed returns one that doesn't serve yet.
func prepareGitBed(t *testing.T, grants ...broker.Grant) (_ *gitBed, env map[string]string) {
	t.Helper()
	b := &gitBed{bed: newBed(t)}
	host := func(s string) policy.Host { return b.hostPort(s, 443).Host }
	minting := broker.New(broker.Options{
		Issuers: map[string]broker.Issuer{"forge": mint{host(gitHost), host(apiHost)}}, Lookup: edge.GitLookup(b.table),
	})
	t.Cleanup(func() { b.must(minting.Close(context.Background())) })
	b.opts.Broker = minting
	note := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // broken off
		}
		user, password, basic := r.BasicAuth()
		got := seen{r.URL.Path, r.Header.Get("Authorization"), string(body)}
		if basic {
			got.authorization = user + ":" + password
		}
		b.mu.Lock()
		b.seen = append(b.seen, got)
		b.mu.Unlock()
		if r.Header.Get("X-Status") != "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprintf(w, "you sent %s", got.authorization)
	}
	for _, name := range []string{gitHost, apiHost, "www.allowed.test"} {
		b.origin(name, note)
	}
	for i := range grants {
		grants[i].Host, grants[i].Issuer = gitHost, "forge"
	}
	env = b.put(boundary.Spec{ID: boxID, Git: grants, Bindings: []inject.Binding{binding}}, defaultPolicy)
	return b, env
}

// newGitBed is one that serves already.
func newGitBed(t *testing.T, grants ...broker.Grant) (_ *gitBed, env map[string]string) {
	t.Helper()
	b, env := prepareGitBed(t, grants...)
	b.start()
	return b, env
}

// last returns what the forge got last, and forgets it.
func (b *gitBed) last() seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.seen) == 0 {
		return seen{}
	}
	got := b.seen[len(b.seen)-1]
	b.seen = nil
	return got
}

// send sends a request and returns status and body of the answer.
func (b *gitBed) send(method, url, body string, change func(*http.Request)) (int, string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, url, strings.NewReader(body))
	b.must(err)
	change(req)
	resp, err := b.client(false).Do(req)
	b.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	b.must(err)
	return resp.StatusCode, string(text)
}

func withPassword(password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth("x", password) }
}

func edgeGrant(repository string, access broker.Access) broker.Grant {
	return broker.Grant{Repository: repository, Access: access, GitAuth: broker.AuthEdge, TokenEnv: "GH_TOKEN"}
}

const (
	refsRead  = "/info/refs?service=git-upload-pack"
	refsWrite = "/info/refs?service=git-receive-pack"
	batch     = "/info/lfs/objects/batch"
)

// Ledger: GB-13. Each operation has the token for it, of the repository that the
// path names; the placeholder goes nowhere else.
func TestGitPlaceholderBecomesTheOperationsToken(t *testing.T) {
	t.Parallel()
	b, env := newGitBed(t, edgeGrant("octo/app", broker.Read), edgeGrant("octo/site", broker.Write))
	placeholder := env["GH_TOKEN"]
	if !strings.HasPrefix(placeholder, "ghs_") {
		t.Fatalf("placeholder %q", placeholder)
	}
	const download, upload = `{"operation":"download","objects":[]}`, `{"operation":"upload","objects":[]}`
	cases := []struct{ method, at, body, want string }{ // want: the password that arrives; "" for no request at all
		{"GET", "/octo/app.git" + refsRead, "", "minted-to-read-octo/app"},
		{"GET", "/Octo/App" + refsRead, "", "minted-to-read-octo/app"},
		{"POST", "/octo/app.git/git-upload-pack", "0000", "minted-to-read-octo/app"},
		{"GET", "/octo/app.git" + refsWrite, "", ""},
		{"POST", "/octo/app.git/git-receive-pack", "0000", ""},
		{"GET", "/octo/site.git" + refsRead, "", "minted-to-read-octo/site"},
		{"GET", "/octo/site.git" + refsWrite, "", "minted-to-write-octo/site"},
		{"POST", "/octo/site.git/git-receive-pack", "0000", "minted-to-write-octo/site"},
		{"POST", "/octo/app.git" + batch, download, "minted-to-read-octo/app"},
		{"POST", "/octo/app.git" + batch, upload, ""},
		{"POST", "/octo/site.git" + batch, download, "minted-to-read-octo/site"},
		{"POST", "/octo/site.git" + batch, upload, "minted-to-write-octo/site"},
		{"POST", "/octo/site.git" + batch, `{"operation":"download","Operation":"upload"}`, ""},
		{"GET", "/octo/secret.git" + refsRead, "", ""},
		{"GET", "/octo/secret.git" + refsWrite, "", ""},
		{"GET", "/octo/app.git/../secret.git" + refsRead, "", ""},
		{"GET", "/octo%2fapp.git" + refsRead, "", ""},
		{"POST", "/octo/site.git/git%2Dreceive-pack", "0000", ""},
		{"GET", "/octo/app", "", ""},
	}
	for _, c := range cases {
		status, _ := b.send(c.method, "https://"+gitHost+c.at, c.body, withPassword(placeholder))
		got := b.last()
		want := c.want
		if want != "" {
			want = "x:" + want
		}
		if got.authorization != want || c.want != "" && status != http.StatusOK || got.body != c.body && c.want != "" {
			t.Errorf("%s %s: the forge got %+v, the client %d; want %q", c.method, c.at, got, status, c.want)
		}
	}
	for _, host := range []string{"www.allowed.test", "bound.allowed.test"} {
		if status, _ := b.send("GET", "https://"+host+"/octo/app.git"+refsRead, "", withPassword(placeholder)); status != http.StatusForbidden && status != http.StatusBadGateway {
			t.Errorf("%s: status %d", host, status)
		}
	}
	if got := b.last(); got.authorization != "" {
		t.Errorf("another host got %+v", got)
	}
}

// Case: D06: the proxy and the helper fold a host alike.
func TestGitHostSpellings(t *testing.T) {
	t.Parallel()
	b, env := newGitBed(t, edgeGrant("octo/app", broker.Read))
	for _, host := range []string{"GIT.Allowed.TEST", "git.allowed.test."} {
		b.send("GET", "https://"+host+"/octo/app.git"+refsRead, "", withPassword(env["GH_TOKEN"]))
		if got := b.last(); got.authorization != "x:minted-to-read-octo/app" {
			t.Errorf("%s: the forge got %+v", host, got)
		}
		if _, err := b.opts.Broker.Get(t.Context(), boxID, host, "octo/app.git", broker.Read); err != nil {
			t.Errorf("%s: the helper gets %v", host, err)
		}
	}
}

// What comes back of a token is the placeholder again.
func TestGitTokenIsScrubbed(t *testing.T) {
	t.Parallel()
	b, env := newGitBed(t, edgeGrant("octo/app", broker.Read))
	_, body := b.send("GET", "https://"+gitHost+"/octo/app.git"+refsRead, "", withPassword(env["GH_TOKEN"]))
	if body != "you sent x:"+env["GH_TOKEN"] {
		t.Errorf("the client got %q", body)
	}
}

// In token mode git holds a token to read; a push gets another one, if the token
// is the sandbox's own.
func TestTokenModeWritesAtTheEdgeAlone(t *testing.T) {
	t.Parallel()
	b, _ := newGitBed(t, broker.Grant{Repository: "octo/site", Access: broker.Write}, broker.Grant{Repository: "octo/app"})
	got, err := b.opts.Broker.Get(t.Context(), boxID, gitHost, "octo/site", broker.Read)
	b.must(err)
	token := string(got.Password.Reveal())
	cases := []struct{ at, password, want string }{
		{"/octo/site.git" + refsRead, token, token},
		{"/octo/site.git" + refsWrite, token, "minted-to-write-octo/site"},
		{"/octo/site.git" + refsWrite, "own", "own"},
		{"/octo/app.git" + refsRead, token, token}, // for the forge to refuse
		{"/octo/app.git" + refsWrite, token, ""},
	}
	for _, c := range cases {
		b.send("GET", "https://"+gitHost+c.at, "", withPassword(c.password))
		if got := strings.TrimPrefix(b.last().authorization, "x:"); got != c.want {
			t.Errorf("%s: the forge got %q, want %q", c.at, got, c.want)
		}
	}
}

// A placeholder of another sandbox is a theft, and one of a boundary that has
// closed is nothing any more.
func TestGitPlaceholderIsTheSandboxsOwn(t *testing.T) {
	t.Parallel()
	b, _ := newGitBed(t, edgeGrant("octo/app", broker.Read))
	grant := edgeGrant("octo/app", broker.Read)
	grant.Host, grant.Issuer = gitHost, "forge"
	others := b.put(boundary.Spec{ID: "other", Git: []broker.Grant{grant}}, defaultPolicy)
	status, _ := b.send("GET", "https://"+gitHost+"/octo/app.git"+refsRead, "", withPassword(others["GH_TOKEN"]))
	records := b.recorded(1)
	if last := records[len(records)-1]; status != http.StatusForbidden || len(last.Finds) != 1 || last.Finds[0].Kind != inject.FoundStolen {
		t.Errorf("status %d, record %+v", status, last)
	}
	if got := b.last(); got != (seen{}) {
		t.Errorf("the forge got %+v", got)
	}
	b.table.Delete("other")
	b.send("GET", "https://"+gitHost+"/octo/app.git"+refsRead, "", withPassword(others["GH_TOKEN"]))
	if got := b.last(); strings.Contains(got.authorization, "minted") {
		t.Errorf("after its end: the forge got %+v", got)
	}
}

// Ledger: GB-13: the placeholder serves the REST API of what is granted, and
// nothing wider.
func TestGitPlaceholderAtTheAPI(t *testing.T) {
	t.Parallel()
	limited := edgeGrant("octo/limited", broker.Write)
	limited.Push = &broker.Push{}
	b, env := newGitBed(t, edgeGrant("octo/app", broker.Read), edgeGrant("octo/site", broker.Write), limited)
	cases := []struct{ method, path, want string }{
		{"GET", "/repos/octo/app/commits", "minted-to-read-octo/app"},
		{"POST", "/repos/octo/app/issues", ""},
		{"GET", "/repos/octo/site", "minted-to-read-octo/site"},
		{"POST", "/repos/octo/site/pulls", "minted-to-write-octo/site"},
		{"PUT", "/repos/octo/site/contents/a", "minted-to-write-octo/site"},
		{"POST", "/repos/octo/limited/pulls", "minted-to-write-octo/limited"},
		{"PUT", "/repos/octo/limited/contents/a", ""},
		{"PATCH", "/repos/octo/limited/git/refs/heads/main", ""},
		{"PUT", "/repos/octo/limited/pulls/1/merge", ""},
		{"GET", "/repos/octo/secret", ""},
		{"GET", "/user", ""},
		{"POST", "/graphql", ""},
	}
	for _, scheme := range []string{"Bearer ", "token ", "bearer "} {
		for _, c := range cases {
			status, _ := b.send(c.method, "https://"+apiHost+c.path, "", func(r *http.Request) { r.Header.Set("Authorization", scheme+env["GH_TOKEN"]) })
			want := c.want
			if want != "" {
				want = scheme + want
			}
			if got := b.last(); got.authorization != want || want == "" && status != http.StatusForbidden {
				t.Errorf("%s %s: the forge got %+v, the client %d; want %q", c.method, c.path, got, status, want)
			}
		}
	}
	twice := func(r *http.Request) {
		r.Header["Authorization"] = []string{"Bearer " + env["GH_TOKEN"], "Bearer own"}
	}
	if status, _ := b.send("GET", "https://"+apiHost+"/repos/octo/app", "", twice); status != http.StatusBadRequest {
		t.Errorf("two credentials: %d", status)
	}
	override := func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+env["GH_TOKEN"])
		r.Header.Set("X-HTTP-Method-Override", "DELETE")
	}
	if status, _ := b.send("POST", "https://"+apiHost+"/repos/octo/site/issues", "", override); status != http.StatusForbidden {
		t.Errorf("another method: %d", status)
	}
}

// pkt frames lines; "" is a flush.
func pkt(lines ...string) string {
	var s strings.Builder
	for _, line := range lines {
		if line == "" {
			s.WriteString("0000")
			continue
		}
		fmt.Fprintf(&s, "%04x%s", len(line)+4, line)
	}
	return s.String()
}

// A push is held against its rules whoever's credential it carries, and git is
// told why in its own protocol.
func TestPushRulesHold(t *testing.T) {
	t.Parallel()
	grant := edgeGrant("octo/site", broker.Write)
	grant.Push = &broker.Push{Refs: []string{"refs/heads/agent/*"}, MaxPack: "1KiB"}
	b, env := newGitBed(t, grant)
	zero, one := strings.Repeat("0", 40), strings.Repeat("1", 40)
	const capabilities = "\x00report-status side-band-64k"
	good := pkt(zero+" "+one+" refs/heads/agent/a"+capabilities, "")
	cases := []struct{ name, body, told string }{ // told: what git reads; "" if the push passes
		{"allowed", good + "PACK", ""},
		{"the question before", "0000", ""},
		{"another ref", pkt(zero+" "+one+" refs/heads/main"+capabilities, "") + "PACK", "ng refs/heads/main this sandbox may not push to this ref"},
		{"one of two", pkt(zero+" "+one+" refs/heads/agent/a"+capabilities, zero+" "+one+" refs/heads/b", "") + "PACK", "ng refs/heads/agent/a the push was refused because of another ref"},
		{"deletion", pkt(one+" "+zero+" refs/heads/agent/a"+capabilities, ""), "may not delete"},
		{"tag", pkt(zero+" "+one+" refs/tags/v1"+capabilities, "") + "PACK", "may not push tags"},
		{"moved", pkt(one+" "+strings.Repeat("2", 40)+" refs/heads/agent/a"+capabilities, "") + "PACK\x00\x00\x00\x02\x00\x00\x00\x00" + strings.Repeat("s", 20), "not shown to be a fast-forward"},
		{"moved by what is no pack", pkt(one+" "+strings.Repeat("2", 40)+" refs/heads/agent/a"+capabilities, "") + "KCAP", "can't be read"},
		{"large", good + strings.Repeat("p", 2000), "larger than 1KiB"},
		{"signed", pkt("push-cert"+capabilities, ""), "push_refused"},
		{"malformed", "00", "push_refused"},
	}
	for _, c := range cases {
		for _, password := range []string{env["GH_TOKEN"], "own"} {
			for _, coded := range []bool{false, true} {
				body := c.body
				if coded {
					var z bytes.Buffer
					w := gzip.NewWriter(&z)
					_, _ = w.Write([]byte(c.body))
					b.must(w.Close())
					body = z.String()
				}
				status, text := b.send("POST", "https://"+gitHost+"/octo/site.git/git-receive-pack", body, func(r *http.Request) {
					r.SetBasicAuth("x", password)
					if coded {
						r.Header.Set("Content-Encoding", "gzip")
					}
				})
				got := b.last()
				if c.told == "" && (got.body != c.body || status != http.StatusOK) || c.told != "" && (got.body == c.body || !strings.Contains(text, c.told)) {
					t.Errorf("%s, coded %t: the forge got %q, git %d %q", c.name, coded, got.body, status, text)
				}
			}
		}
	}
	_, text := b.send("GET", "https://"+gitHost+"/octo/secret.git"+refsWrite, "", func(*http.Request) {})
	if !strings.Contains(text, "ERR Sallyport: This sandbox is not granted this repository.") {
		t.Errorf("a push elsewhere: %q", text)
	}
}

// Nothing of a granted host passes unseen.
func TestBrokeredHostsAreIntercepted(t *testing.T) {
	t.Parallel()
	b, env := prepareGitBed(t, edgeGrant("octo/app", broker.Read))
	b.opts.InterceptBoundOnly = true
	b.start()
	for at, want := range map[string]string{
		"https://" + gitHost + "/octo/app.git" + refsRead: "x:minted-to-read-octo/app",
		"https://" + apiHost + "/repos/octo/app":          "x:minted-to-read-octo/app",
	} {
		b.send("GET", at, "", withPassword(env["GH_TOKEN"]))
		if got := b.last().authorization; got != want {
			t.Errorf("%s: %q", at, got)
		}
	}
}

// A forge that turns a token down isn't asked with it for ever, and its answer
// is the sandbox's.
func TestRecordNamesTheToken(t *testing.T) {
	t.Parallel()
	b, env := newGitBed(t, edgeGrant("octo/app", broker.Read))
	status, _ := b.send("GET", "https://"+gitHost+"/octo/app.git"+refsRead, "", func(r *http.Request) {
		r.SetBasicAuth("x", env["GH_TOKEN"])
		r.Header.Set("X-Status", "401")
	})
	record := b.recorded(1)[0]
	want := audit.Git{Repository: "octo/app", Access: "read", Issuer: "forge", TokenHash: broker.TokenHash(secret.NewValue([]byte("minted-to-read-octo/app")))}
	if record.Git == nil || record.Git.TokenHash != want.TokenHash || record.Git.Repository != want.Repository || record.Git.Access != want.Access || status != http.StatusUnauthorized {
		t.Errorf("status %d, record %+v", status, record.Git)
	}
}

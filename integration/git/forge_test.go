package git_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/broker/github/githubtest"
)

// host is what the test certificate of net/http/httptest is for.
const host = "example.com"

const backend = "/usr/lib/git-core/git-http-backend"

// forge is git's own HTTP server behind a GitHub API that says who may do what.
type forge struct {
	api    *githubtest.Server
	server *httptest.Server
	root   string // of the bare repositories
	flags  []string
	auth   string // what sandboxes hold: --git-auth

	mu      sync.Mutex
	objects map[string][]byte // of LFS, by oid
}

var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// newForge serves octo/app, octo/site, octo/new-name (once octo/old-name) and
// octo/secret. Change changes the API.
func newForge(t *testing.T, change func(*githubtest.Config)) *forge {
	t.Helper()
	f := &forge{root: t.TempDir(), objects: map[string][]byte{}}
	config := githubtest.Config{
		Prefix: "/api/v3", AppID: "4711", Key: &appKey().PublicKey, Installation: 77,
		Permissions: map[string]string{"metadata": "read", "contents": "write"},
		Repositories: []githubtest.Repository{
			{ID: 1, Owner: "octo", Name: "app"}, {ID: 2, Owner: "octo", Name: "site"},
			{ID: 3, Owner: "octo", Name: "new-name", Was: []string{"octo/old-name"}}, {ID: 4, Owner: "octo", Name: "secret"},
		},
	}
	if change != nil {
		change(&config)
	}
	f.api = githubtest.New(config)
	for _, r := range config.Repositories {
		f.seed(t, r.Name)
	}
	f.server = httptest.NewTLSServer(f)
	t.Cleanup(f.server.Close)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw}))
	write("app.pem", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(appKey())}))
	issuers := write("issuers.yaml", []byte("github: {kind: github, host: "+host+", app_id: '4711', private_key: 'file:app.pem'}\n"))
	f.flags = []string{
		"--allow", host, "--issuers", issuers, "--upstream-ca", ca,
		"--resolve", host + ":443=" + f.server.Listener.Addr().String(),
	}
	return f
}

// seed makes a bare repository with three commits and a tag.
func (f *forge) seed(t *testing.T, name string) {
	t.Helper()
	script := `set -e
git init -q --bare -b main "$1/octo/$2.git"
git -C "$1/octo/$2.git" config http.receivepack true
git -C "$1/octo/$2.git" config uploadpack.allowFilter true
git -C "$1/octo/$2.git" config uploadpack.allowAnySHA1InWant true
git clone -q "$1/octo/$2.git" "$3/$2" 2>/dev/null
cd "$3/$2"
for i in 1 2 3; do echo "$2 $i" > file; git add file; git -c user.name=T -c user.email=t@example.com commit -qm "commit $i"; done
git tag v1
git push -q origin HEAD:main v1`
	out, err := exec.Command("sh", "-c", script, "seed", f.root, name, t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// ServeHTTP implements http.Handler.
func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// As GitHub does it: in any letter case, with or without ".git".
	part := strings.SplitN(r.URL.Path, "/", 4)
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/v3/repos/") && len(strings.Split(r.URL.Path, "/")) == 6, r.URL.Path == "/api/v3/user":
		f.rest(w, r)
	case strings.HasPrefix(r.URL.Path, "/api/v3/"):
		f.api.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, "/lfs/"):
		f.object(w, r)
	case len(part) != 4:
		http.NotFound(w, r)
	default:
		repository := strings.ToLower(part[1] + "/" + strings.TrimSuffix(part[2], ".git"))
		r.URL.Path = "/" + repository + ".git/" + part[3]
		f.git(w, r, repository, part[3])
	}
}

func (f *forge) git(w http.ResponseWriter, r *http.Request, repository, inside string) {
	if repository == "octo/old-name" {
		http.Redirect(w, r, strings.Replace(r.URL.RequestURI(), "old-name", "new-name", 1), http.StatusMovedPermanently)
		return
	}
	_, token, _ := r.BasicAuth()
	access := f.api.Allows(token, repository)
	if access == "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "authenticate", http.StatusUnauthorized)
		return
	}
	if pushes := strings.Contains(r.URL.RequestURI(), "git-receive-pack"); pushes && access != "write" {
		http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
		return
	}
	if strings.HasPrefix(inside, "info/lfs/") {
		f.lfs(w, r, access)
		return
	}
	f.cgi(w, r)
}

// rest says what the token of a request may do with a repository.
func (f *forge) rest(w http.ResponseWriter, r *http.Request) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	repository := strings.TrimPrefix(r.URL.Path, "/api/v3/repos/")
	fmt.Fprintf(w, "access %q", f.api.Allows(token, repository))
}

// cgi hands the request to git's own server. Package cgi refuses chunked
// bodies, which git sends above a megabyte.
func (f *forge) cgi(w http.ResponseWriter, r *http.Request) {
	body, err := os.CreateTemp("", "body")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer os.Remove(body.Name())
	defer body.Close()
	n, err := io.Copy(body, r.Body)
	if err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body, r.ContentLength, r.TransferEncoding = body, n, nil
	(&cgi.Handler{
		Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + f.root, "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL=" + r.Header.Get("Git-Protocol")},
		Stderr: io.Discard,
	}).ServeHTTP(w, r)
}

// lfs answers the batch API (git-lfs docs/api/batch.md), and that it keeps no
// locks.
func (f *forge) lfs(w http.ResponseWriter, r *http.Request, access string) {
	if !strings.HasSuffix(r.URL.Path, "/objects/batch") {
		http.NotFound(w, r)
		return
	}
	var req struct {
		Operation string `json:"operation"`
		Objects   []struct {
			OID  string `json:"oid"`
			Size int64  `json:"size"`
		} `json:"objects"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Operation == "upload" && access != "write" {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	var objects []map[string]any
	for _, o := range req.Objects {
		objects = append(objects, map[string]any{
			"oid": o.OID, "size": o.Size, "authenticated": true,
			"actions": map[string]any{req.Operation: map[string]any{"href": fmt.Sprintf("https://%s/lfs/%s", host, o.OID)}},
		})
	}
	w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
	json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": objects})
}

func (f *forge) object(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	oid := filepath.Base(r.URL.Path)
	if r.Method == http.MethodPut {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.objects[oid] = data
		return
	}
	http.ServeContent(w, r, oid, time.Time{}, strings.NewReader(string(f.objects[oid])))
}

// log returns the subjects of a branch on the forge.
func (f *forge) log(t *testing.T, repository, ref string) string {
	t.Helper()
	out, err := exec.Command("git", "-c", "safe.directory=*", "-C", filepath.Join(f.root, repository+".git"), "log", "--format=%s", ref).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", repository, err, out)
	}
	return string(out)
}

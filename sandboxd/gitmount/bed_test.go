package gitmount_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/gitmount"
	"github.com/sallyport/sallyport/sandboxd/inside"
)

// bed is a forge at https://example.com and a place to mount at. Its commands
// run on this machine, since the repositories are the tests' own; integration
// stages in sandboxes.
type bed struct {
	t      *testing.T
	forge  string // of the bare repositories
	mount  string
	home   string
	env    []string
	before func(inside.Command) // of each command; may be nil
}

func newBed(t *testing.T) *bed {
	t.Helper()
	dir := t.TempDir()
	b := &bed{t: t, forge: filepath.Join(dir, "forge"), mount: filepath.Join(dir, "mount"), home: filepath.Join(dir, "home")}
	if err := os.MkdirAll(b.home, 0o755); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(b.serve())
	t.Cleanup(server.Close)
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "GIT_SSL_CAINFO=" + ca,
		"HTTPS_PROXY=http://" + connectProxy(t, server.Listener.Addr().String()),
	}
	b.seed("app")
	return b
}

// serve is git's own HTTP server.
func (b *bed) serve() http.Handler {
	backend := &cgi.Handler{
		Path: "/usr/lib/git-core/git-http-backend", Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + b.forge, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // package cgi refuses chunked bodies
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		backend.ServeHTTP(w, r)
	})
}

// connectProxy leads every tunnel for example.com to addr, and refuses others.
func connectProxy(t *testing.T, addr string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	tunnel := func(client net.Conn) {
		defer client.Close()
		in := bufio.NewReader(client)
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if req.Host != "example.com:443" {
			io.WriteString(client, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
			return
		}
		server, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		defer server.Close()
		io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		done := make(chan struct{})
		go func() { io.Copy(server, in); server.Close(); close(done) }()
		io.Copy(client, server)
		client.Close()
		<-done
	}
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { tunnel(client) })
		}
	})
	return l.Addr().String()
}

// seed makes a bare repository of three commits, with a work tree to go on in.
func (b *bed) seed(name string) {
	b.t.Helper()
	b.sh(`set -e
git init -q --bare -b main "$1/octo/$2.git"
git -C "$1/octo/$2.git" config uploadpack.allowAnySHA1InWant true
git init -q -b main "$1/work/$2"
cd "$1/work/$2"
git remote add origin "$1/octo/$2.git"
mkdir dir; echo ignored > .gitignore
for i in 1 2 3; do echo "$i" > file; echo "$i" > dir/file; git add -A; git commit -qm "commit $i"; done
git tag v1; git push -q origin main v1`, b.forge, name)
}

// push commits what a script does in a work tree of the forge, to a branch.
func (b *bed) push(name, branch, script string) string {
	b.t.Helper()
	return b.sh(`set -e; cd "$1/work/$2"; branch=$3; eval "$4"; git add -A; git commit -q --allow-empty -m "to $branch"
git push -qf origin "HEAD:$branch"; git rev-parse HEAD`, b.forge, name, branch, script)
}

// sh runs a script as somebody beside the platform would: the forge's owner, or
// the agent.
func (b *bed) sh(script string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Env = append(slices.Clone(b.env), "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v: %s\n%s", err, script, out)
	}
	return strings.TrimSpace(string(out))
}

// agent runs a script in the mount.
func (b *bed) agent(script string) string {
	b.t.Helper()
	return b.sh(`set -e; cd "$1"; eval "$2"`, b.mount, script)
}

func (b *bed) run(ctx context.Context, c inside.Command) (inside.Result, error) {
	if b.before != nil {
		b.before(c)
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var out, errs inside.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, append(slices.Clone(b.env), c.Env...), strings.NewReader(c.Stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return inside.Result{}, err
	}
	return inside.Result{Code: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errs.String()}, nil
}

func (b *bed) compile(change func(*gitmount.Document)) []gitmount.Mount {
	b.t.Helper()
	d := gitmount.Document{Kind: "git", Repository: "https://example.com/octo/app", MountPath: b.mount}
	if change != nil {
		change(&d)
	}
	mounts, err := gitmount.Compile([]gitmount.Document{d}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return mounts
}

// stage stages, for a delivery, and checks what is promised of the directory.
func (b *bed) stage(change func(*gitmount.Document)) gitmount.Report {
	b.t.Helper()
	reports, err := gitmount.Stage(b.t.Context(), b.run, b.compile(change), gitmount.Delivery)
	if err != nil {
		b.t.Fatal(err)
	}
	if got := b.agent(`git status --porcelain --ignored; git rev-parse HEAD`); got != reports[0].Commit {
		b.t.Errorf("the directory isn't exactly %s: %s", reports[0].Commit, got)
	}
	return reports[0]
}

// fails stages and returns the error.
func (b *bed) fails(change func(*gitmount.Document)) *gitmount.Error {
	b.t.Helper()
	_, err := gitmount.Stage(b.t.Context(), b.run, b.compile(change), gitmount.Delivery)
	var e *gitmount.Error
	if !errors.As(err, &e) {
		b.t.Fatalf("error %v", err)
	}
	return e
}

func ref(name string) func(*gitmount.Document) {
	return func(d *gitmount.Document) { d.Ref = name }
}

package integration_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An edge by itself, as a runner without a prepared namespace uses it.
type server struct {
	addr, dir string
	cmd       *exec.Cmd
	w         *world
}

const serveToken = "a-token-of-the-ci-boundary-0123456789"

// serve starts `edge serve` with one static boundary, "ci", that allows apiHost
// and binds API_TOKEN to it.
func serve(t *testing.T) *server {
	t.Helper()
	s := &server{addr: freeAddress(t), dir: folder(t, asRoot), w: newWorld(t, apiHost, otherHost, offHost)}
	token := write(t, s.dir, "token", serveToken+"\n")
	secret := write(t, s.dir, "secret", realToken+"\n")
	for _, path := range []string{token, secret} {
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := write(t, s.dir, "edge.yaml", fmt.Sprintf(`
state: %[1]s/state
listen:
  proxy: %[2]s
  control: %[1]s/control.sock
upstream:
  allow_cidrs: [127.0.0.1/32]
  extra_roots: [%[3]s]
  resolve: {"api.example.test:443": %[4]q, "other.example.test:443": %[4]q, "off.example.test:443": %[4]q}
boundaries:
  - id: ci
    token_file: %[1]s/token
    network_policy:
      version: v1
      rules:
        - {match: {host_glob: api.example.test}, action: {type: allow}}
        - {match: {host_glob: other.example.test}, action: {type: allow}}
    bindings:
      - {env: API_TOKEN, host: api.example.test, header: Authorization, secret: "file:%[1]s/secret"}
`, s.dir, s.addr, s.w.ca, s.w.Addr()))
	run(t, asRoot, nil, product.Path("edge"), "check", "--config", config).want(t, 0)

	s.cmd = command(t, asRoot, nil, product.Path("edge"), "serve", "--config", config)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(bufio.NewReader(stderr)) // ends with the process
		log <- string(text)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // its end is checked below
		text := <-log
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("edge serve ended with %v:\n%s", err, clip(text))
		}
		if strings.Contains(text, realToken) || strings.Contains(text, serveToken) {
			t.Errorf("the log holds a secret:\n%s", clip(text))
		}
	})
	s.accepts(t)
	return s
}

// accepts waits for the proxy to listen.
func (s *server) accepts(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", s.addr); err == nil {
			c.Close()
			return
		}
	}
	t.Fatal("edge serve does not listen")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// curl runs curl through the proxy as user:password, "" for nobody.
func (s *server) curl(t *testing.T, credentials string, args ...string) result {
	t.Helper()
	proxy := url.URL{Scheme: "http", Host: s.addr}
	if user, password, ok := strings.Cut(credentials, ":"); ok {
		proxy.User = url.UserPassword(user, password)
	}
	bundle := filepath.Join(s.dir, "bundle.pem")
	trust := run(t, asRoot, nil, product.Path("edge"), "trust", "--config", filepath.Join(s.dir, "edge.yaml"), "--bundle")
	trust.want(t, 0)
	if err := os.WriteFile(bundle, []byte(trust.stdout), 0o644); err != nil {
		t.Fatal(err)
	}
	return run(t, asRoot, []string{"HTTPS_PROXY=" + proxy.String(), "http_proxy=" + proxy.String(), "CURL_CA_BUNDLE=" + bundle},
		"curl", append([]string{"-sS", "--max-time", "20", "-D", "-"}, args...)...)
}

// Ledger: ED-1, ED-2, ED-4, ED-21, ED-23
func TestEdgeServesARunnerByProxyVariables(t *testing.T) {
	t.Parallel()
	s := serve(t)
	mine := "ci:" + serveToken

	t.Run("allowed", func(t *testing.T) {
		res := s.curl(t, mine, "https://"+apiHost+"/hello")
		res.want(t, 0)
		contains(t, res.stdout, `"path":"/hello"`)
		for _, r := range s.w.Received() {
			for _, h := range []string{"Proxy-Authorization", "Proxy-Connection", "Via", "X-Forwarded-For"} {
				if v := r.Header.Get(h); v != "" {
					t.Errorf("the origin received %s: %s", h, v)
				}
			}
		}
	})
	t.Run("secret", func(t *testing.T) {
		env := run(t, asRoot, nil, product.Path("sallyport"), "boundary", "env", "ci", "--control", filepath.Join(s.dir, "control.sock"))
		env.want(t, 0)
		placeholder := regexp.MustCompile(`API_TOKEN=['"]?([^'"\s]+)`).FindStringSubmatch(env.stdout)
		if placeholder == nil {
			t.Fatalf("no placeholder in %q", env.stdout)
		}
		res := s.curl(t, mine, "-H", "Authorization: Bearer "+placeholder[1], "https://"+apiHost+"/secret")
		res.want(t, 0)
		received := s.w.Received()
		if got := received[len(received)-1]; got.Path != "/secret" || got.Header.Get("Authorization") != "Bearer "+realToken {
			t.Errorf("the origin received %+v, want the secret", got)
		}
		if strings.Contains(res.stdout, realToken) {
			t.Error("the answer holds the secret")
		}
	})
	t.Run("denied", func(t *testing.T) {
		res := s.curl(t, mine, "https://"+offHost+"/")
		if res.code == 0 {
			t.Error("curl reached a host outside the policy")
		}
		contains(t, res.stdout, " 403 ", "network_policy_denied")
	})
	for name, credentials := range map[string]string{
		"no credentials": "", "wrong token": "ci:wrong", "no token": "ci:", "no such boundary": "nobody:" + serveToken,
	} {
		t.Run(name, func(t *testing.T) {
			for _, u := range []string{"https://" + apiHost + "/", "http://" + apiHost + "/"} {
				res := s.curl(t, credentials, u)
				contains(t, res.stdout, " 407 ")
				contains(t, strings.ToLower(res.stdout), "proxy-authenticate: basic")
			}
		})
	}
	t.Run("nothing unseen", func(t *testing.T) {
		for _, r := range s.w.Received() {
			if r.Host != apiHost || r.Path == "/" {
				t.Errorf("the origin received %+v", r)
			}
		}
	})
}

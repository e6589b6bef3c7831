package gitcred_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport/broker/gitcred"
)

// server is a broker with one repository, as the edge speaks.
type server struct {
	socket string
	gets   atomic.Int32
	erased atomic.Pointer[gitcred.EraseRequest]
}

const token = "ghs_1234.abc-def_" // opaque: no alphabet is assumed

var expires = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{socket: filepath.Join(t.TempDir(), "b")}
	ln, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+gitcred.PathGet, func(w http.ResponseWriter, r *http.Request) {
		s.gets.Add(1)
		var req gitcred.GetRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		switch {
		case req.Host != "github.com":
			w.WriteHeader(http.StatusNoContent)
		case req.Path == "octo/app.git":
			json.NewEncoder(w).Encode(gitcred.GetResponse{Username: "x-access-token", Password: token, ExpiresAt: expires})
		case req.Path == "octo/two-lines":
			json.NewEncoder(w).Encode(gitcred.GetResponse{Username: "u", Password: "a\nquit=0"})
		case req.Path == "octo/fault":
			http.Error(w, "not JSON", http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusForbidden)
			w.Write([]byte(`{"error":{"code":"repository_not_granted","message":"No\u001b[2J.","hint":"Ask.","request_id":"r1"}}`))
		}
	})
	mux.HandleFunc("POST "+gitcred.PathErase, func(w http.ResponseWriter, r *http.Request) {
		var req gitcred.EraseRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		s.erased.Store(&req)
		w.WriteHeader(http.StatusNoContent)
	})
	h := &http.Server{Handler: mux}
	go h.Serve(ln)
	t.Cleanup(func() { h.Close() })
	return s
}

func run(t *testing.T, socket, in string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	h := gitcred.Helper{Client: gitcred.Client{Socket: socket}, Stdin: strings.NewReader(in), Stdout: &out, Stderr: &errs}
	code = h.Run(t.Context(), args)
	return code, out.String(), errs.String()
}

// Ledger: GB-4, GB-5. Case: D16, D19, D31.
func TestHelper(t *testing.T) {
	t.Parallel()
	s := serve(t)
	plain := "username=x-access-token\npassword=" + token + "\npassword_expiry_utc=1893553445\n"
	cases := []struct {
		name, action, in string
		stdout, stderr   string // stderr is a part of it; empty: nothing
		code             int
	}{
		{"get", "get", good + "\n", plain, "", 0},
		{"get of git 2.46", "get", "capability[]=authtype\n" + good + "\n", "capability[]=authtype\nephemeral=1\n" + plain, "", 0},
		{"other host", "get", "protocol=https\nhost=example.com\npath=a/b\n\n", "", "", 0},
		{"cleartext", "get", strings.Replace(good, "https", "http", 1) + "\n", "", "", 0},
		{"not granted", "get", strings.Replace(good, "app", "other", 1) + "\n", "quit=1\n",
			"sallyport: github.com/octo/other.git: No?[2J. Ask. (repository_not_granted, request r1)\n", 0},
		{"fault of the broker", "get", "protocol=https\nhost=github.com\npath=octo/fault\n\n", "quit=1\n", "status 502", 0},
		{"answer of two lines", "get", "protocol=https\nhost=github.com\npath=octo/two-lines\n\n", "", "end its line", 0},
		{"malformed", "get", good + "host=evil.test\n\n", "", "line 4: host is given twice", 0},
		{"store", "store", good + "username=u\npassword=p\n\n", "", "", 0},
		{"store of nothing", "store", "", "", "", 0},
		{"capability", "capability", "", "version 0\ncapability authtype\n", "", 0},
		{"unknown action", "list", good, "", "usage: ", 2},
		{"no action", "", good, "", "usage: ", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{c.action}
			if c.action == "" {
				args = nil
			}
			code, stdout, stderr := run(t, s.socket, c.in, args...)
			if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q, %q", code, stdout, stderr, c.code, c.stdout, c.stderr)
			}
			if strings.Count(stderr, "\n") > 1 && c.code == 0 {
				t.Errorf("stderr has several lines: %q", stderr)
			}
		})
	}
}

// Case: D01, D04, D08: nothing that is refused reaches the broker.
func TestHelperAsksNothingOddOfTheBroker(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, c := range refused {
		code, stdout, stderr := run(t, s.socket, c.in, "get")
		if code != 0 || stdout != "" || stderr == "" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", c.name, code, stdout, stderr)
		}
	}
	if n := s.gets.Load(); n > 0 {
		t.Errorf("the broker was asked %d times", n)
	}
}

// Case: D17.
func TestEraseNamesThePasswordByItsDigest(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if code, stdout, stderr := run(t, s.socket, good+"username=u\npassword=p\n\n", "erase"); code != 0 || stdout+stderr != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	want := gitcred.EraseRequest{Host: "github.com", Path: "octo/app.git", PasswordSHA256: gitcred.Digest("p")}
	if got := s.erased.Load(); got == nil || *got != want {
		t.Errorf("the broker heard %+v, want %+v", got, want)
	}
}

// Case: D31: a broker that is down is told in one line, and nobody is asked
// for a password instead.
func TestBrokerDown(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, filepath.Join(t.TempDir(), "none"), good+"\n", "get")
	if code != 0 || stdout != "quit=1\n" || !strings.Contains(stderr, "reach the broker") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, stdout, stderr := run(t, filepath.Join(t.TempDir(), "none"), good+"password=p\n\n", "erase"); code != 0 || stdout+stderr != "" {
		t.Errorf("erase: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

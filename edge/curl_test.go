package edge_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// curl runs curl through the proxy at addr and returns what it printed.
func (b *bed) curl(addr string, args ...string) string {
	b.Helper()
	ca := filepath.Join(b.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.opts.Authority.Certificate().Raw})
	b.must(os.WriteFile(ca, block, 0o600))
	cmd := exec.Command("curl", append([]string{"-sS", "-m", "20", "--cacert", ca, "-x", "http://" + addr}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		out = append(out, "\n"+err.Error()...)
	}
	return string(out)
}

// Ledger: ED-1, ED-18, ED-23 Case: A03, A36
func TestCurl(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case "HEAD":
			w.Header().Set("Content-Length", "1234567")
		case "PUT":
			n, _ := io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, strings.Repeat("x", int(n/1000)))
		default:
			echoHeaders(w, r)
		}
	}
	b.origin("www.allowed.test", handler)
	b.originHTTP("www.allowed.test", 80, handler)
	b.start()
	shared := b.serveProxy("")
	upload := filepath.Join(t.TempDir(), "upload")
	b.must(os.WriteFile(upload, make([]byte, 3_000_000), 0o600))
	cases := []struct {
		name string
		addr string
		args []string
		want []string
	}{
		{"http/1.1", b.proxy, []string{"--http1.1", "https://www.allowed.test/a"}, []string{"www.allowed.test /a\n"}},
		{"http/2", b.proxy, []string{"--http2", "-w", "over %{http_version}", "https://www.allowed.test/a"}, []string{"www.allowed.test /a\n", "over 2"}},
		{"plain", b.proxy, []string{"http://www.allowed.test/a"}, []string{"HTTP/1.1 www.allowed.test /a\n"}},
		{"tunnelled plain", b.proxy, []string{"-p", "http://www.allowed.test/a"}, []string{"HTTP/1.1 www.allowed.test /a\n"}},
		{"head", b.proxy, []string{"--http1.1", "-I", "https://www.allowed.test/"}, []string{"Content-Length: 1234567"}},
		{"plain head", b.proxy, []string{"-I", "http://www.allowed.test/"}, []string{"Content-Length: 1234567"}},
		{"upload", b.proxy, []string{"--http1.1", "-T", upload, "-o", "/dev/null", "-w", "%{size_download}", "https://www.allowed.test/"}, []string{"3000"}},
		{"upload over http/2", b.proxy, []string{"--http2", "-T", upload, "-o", "/dev/null", "-w", "%{size_download}", "https://www.allowed.test/"}, []string{"3000"}},
		{"chunked upload", b.proxy, []string{"--http1.1", "-H", "Transfer-Encoding: chunked", "-T", upload, "-o", "/dev/null", "-w", "%{size_download}", "https://www.allowed.test/"}, []string{"3000"}},
		{"two requests on a connection", b.proxy, []string{"--http1.1", "-w", "%{num_connects} ", "https://www.allowed.test/", "https://www.allowed.test/"}, []string{"1 ", "0 "}},
		{"denied", b.proxy, []string{"-v", "https://denied.test/"}, []string{"403 Blocked by Sallyport", "network_policy_denied"}},
		{"denied plain", b.proxy, []string{"-i", "http://denied.test/"}, []string{"403 Blocked by Sallyport", `"network_policy_denied"`}},
		{"credentials", shared, []string{"-U", boxID + ":" + token, "https://www.allowed.test/a"}, []string{"www.allowed.test /a\n"}},
		{"no credentials", shared, []string{"-v", "https://www.allowed.test/a"}, []string{"407 "}},
		{"challenged", shared, []string{"-v", "--proxy-anyauth", "-U", boxID + ":" + token, "https://www.allowed.test/a"}, []string{"407 ", "www.allowed.test /a\n"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := b.curl(c.addr, c.args...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
			if strings.Count(out, "Connected to") > 1 {
				t.Errorf("more than one connection:\n%s", out)
			}
		})
	}
}

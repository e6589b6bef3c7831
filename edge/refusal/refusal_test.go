package refusal_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/refusal"
)

// statuses is the contract: a code that is missing here, or here only, fails.
var statuses = map[refusal.Code]int{
	refusal.NetworkPolicyDenied:  403,
	refusal.BadHost:              400,
	refusal.BadRequest:           400,
	refusal.PrivateAddress:       403,
	refusal.HostMismatch:         421,
	refusal.SNIMismatch:          421,
	refusal.PortDenied:           403,
	refusal.ProtocolDenied:       403,
	refusal.IdentityRequired:     407,
	refusal.PlaceholderWrongHost: 403,
	refusal.SecretLeak:           403,
	refusal.SecretUnavailable:    503,
	refusal.SecretBudget:         429,
	refusal.RateLimited:          429,
	refusal.UpstreamDialError:    502,
	refusal.UpstreamTLSError:     502,
	refusal.UpstreamTimeout:      504,
	refusal.UpstreamProtocol:     502,
	refusal.EdgeOverloaded:       503,
	refusal.ParentProxyDenied:    403,
	refusal.RepositoryNotGranted: 403,
	refusal.GitRefused:           403,
	refusal.PushRefused:          403,
	refusal.BodyTooLarge:         413,
	refusal.GitAuthUnavailable:   503,
}

// Ledger: ED-24
func TestEveryCodeIsComplete(t *testing.T) {
	t.Parallel()
	severities := map[string]bool{audit.SeverityLow: true, audit.SeverityMedium: true, audit.SeverityHigh: true, audit.SeverityCritical: true}
	codes := refusal.Codes()
	if len(codes) != len(statuses) {
		t.Fatalf("%d codes in the table, %d expected", len(codes), len(statuses))
	}
	for _, c := range codes {
		if c.Status() != statuses[c] {
			t.Errorf("%s: status %d, want %d", c, c.Status(), statuses[c])
		}
		if c.Message() == "" || c.Hint() == "" || !severities[c.Severity()] {
			t.Errorf("%s: message %q, hint %q, severity %q", c, c.Message(), c.Hint(), c.Severity())
		}
		r := &refusal.Refusal{Code: c, Host: "api.example.com"}
		h := r.Header()
		wantRetry := c.Status() == 429 || c.Status() == 503
		if got := h.Get("Retry-After") != ""; got != wantRetry {
			t.Errorf("%s: Retry-After present %v, want %v", c, got, wantRetry)
		}
		if got := h.Get("Proxy-Authenticate") != ""; got != (c.Status() == 407) {
			t.Errorf("%s: Proxy-Authenticate present %v", c, got)
		}
	}
}

// Ledger: ED-23
func TestGolden(t *testing.T) {
	t.Parallel()
	r := &refusal.Refusal{Code: refusal.NetworkPolicyDenied, Host: "evil.example.com", RequestID: "01J", Detail: "rule 3 of 7"}
	var b bytes.Buffer
	if err := r.WriteHTTP1(&b, false); err != nil {
		t.Fatal(err)
	}
	want := "HTTP/1.1 403 Blocked by Sallyport: network_policy_denied (evil.example.com)\r\n" +
		"Content-Length: 251\r\n" +
		"Cache-Control: no-store\r\n" +
		"Content-Type: application/json; charset=utf-8\r\n" +
		"Proxy-Status: sallyport; error=http_request_denied; details=\"network_policy_denied: evil.example.com\"\r\n" +
		"X-Edge-Decision: deny\r\n" +
		"X-Edge-Reason: network_policy_denied\r\n" +
		"\r\n" +
		`{"error":{"code":"network_policy_denied","message":"The network policy of this sandbox does not allow this host.","host":"evil.example.com","hint":"Ask for an allow rule for this host in the environment's network policy.","request_id":"01J"}}` + "\n"
	want = strings.Replace(want, "251", strconv.Itoa(len(r.JSON())), 1)
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

var proxyStatus = regexp.MustCompile(`^sallyport; error=[a-z_]+; details="(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$`)

// hostile are hosts that try to end a line, a string or a JSON value.
var hostile = []string{
	"a\r\nX-Edge-Decision: allow", "a\nb", "a\x00b", `a"; error=ok; x="`, `a\`, `"`, "ünïcödé.test",
	"\xff\xfe", "\x1b[31m", strings.Repeat("a", 70000), "</script>", "\u2028",
}

func TestHostileHostsStayText(t *testing.T) {
	t.Parallel()
	for _, host := range hostile {
		r := &refusal.Refusal{Code: refusal.BadHost, Host: host, RequestID: host, Detail: "secret cause"}
		checkRendering(t, r)
	}
}

func checkRendering(t *testing.T, r *refusal.Refusal) {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHTTP1(&b, true); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "secret cause") {
		t.Errorf("%q: the detail was rendered", r.Host)
	}
	resp, err := http.ReadResponse(bufio.NewReader(&b), nil)
	if err != nil {
		t.Fatalf("%q: %v", r.Host, err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(got, r.JSON()) {
		t.Errorf("%q: body %q, %v", r.Host, got, err)
	}
	if v := resp.Header.Values("X-Edge-Decision"); len(v) != 1 || v[0] != "deny" {
		t.Errorf("%q: X-Edge-Decision %q", r.Host, v)
	}
	if v := resp.Header.Get("Proxy-Status"); !proxyStatus.MatchString(v) {
		t.Errorf("%q: malformed Proxy-Status %q", r.Host, v)
	}
	if !resp.Close || len(resp.Status) > 400 {
		t.Errorf("%q: close %v, status %q", r.Host, resp.Close, resp.Status)
	}
	var decoded struct{ Error map[string]string }
	if err := json.Unmarshal(got, &decoded); err != nil || decoded.Error["code"] != string(r.Code) {
		t.Errorf("%q: body %s, %v", r.Host, got, err)
	}
}

func FuzzHost(f *testing.F) {
	for _, host := range hostile {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		checkRendering(t, &refusal.Refusal{Code: refusal.BadHost, Host: host, Detail: "secret cause"})
	})
}

func TestUnknownCodeRefuses(t *testing.T) {
	t.Parallel()
	r := &refusal.Refusal{Code: "no such\r\ncode"}
	if r.Status() != 403 || !r.Closes() || strings.ContainsAny(r.ReasonPhrase(), "\r\n") {
		t.Errorf("status %d, closes %v, phrase %q", r.Status(), r.Closes(), r.ReasonPhrase())
	}
}

// Case: A36
func TestIdentityRequiredKeepsTheConnection(t *testing.T) {
	t.Parallel()
	r := &refusal.Refusal{Code: refusal.IdentityRequired}
	srv := httptest.NewServer(r)
	defer srv.Close()
	var dials int
	tr := &http.Transport{DialContext: countDials(&dials)}
	defer tr.CloseIdleConnections()
	for range 3 {
		resp, err := (&http.Client{Transport: tr}).Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 407 || resp.Header.Get("Proxy-Authenticate") == "" {
			t.Errorf("status %d, headers %v", resp.StatusCode, resp.Header)
		}
	}
	if dials != 1 {
		t.Errorf("%d connections for 3 requests", dials)
	}
	var b bytes.Buffer
	if err := r.WriteHTTP1(&b, false); err != nil || strings.Contains(b.String(), "Connection: close") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestMismatchClosesTheConnection(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(&refusal.Refusal{Code: refusal.HostMismatch})
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 421 || !resp.Close {
		t.Errorf("status %d, close %v", resp.StatusCode, resp.Close)
	}
}

func TestRetryAfterOfTheCaller(t *testing.T) {
	t.Parallel()
	r := &refusal.Refusal{Code: refusal.RateLimited, RetryAfterSeconds: 17}
	if got := r.Header().Get("Retry-After"); got != "17" {
		t.Errorf("Retry-After %q", got)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequest(http.MethodHead, "http://example.com/", nil)
	resp := (&refusal.Refusal{Code: refusal.NetworkPolicyDenied}).Response(req)
	var b bytes.Buffer
	if err := resp.Write(&b); err != nil || !strings.HasSuffix(b.String(), "\r\n\r\n") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

package edge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/miekg/dns"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

var (
	strictBinding = inject.Binding{Env: "STRICT", Host: "bound.allowed.test", Header: "X-Strict", Secret: "mem:token", InBody: inject.InBodyStrict}
	honeyBinding  = inject.Binding{Kind: inject.KindHoney, Env: "BAIT", Shape: "github"}
)

// leakBed is a bed whose box has a binding of each kind, and a second boundary
// from which a placeholder can be stolen. Origins note what arrives.
func leakBed(t *testing.T) (b *bed, env, others map[string]string, arrived *atomic.Pointer[[]byte]) {
	t.Helper()
	b = newBed(t)
	arrived = new(atomic.Pointer[[]byte])
	note := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived.Store(&body)
		w.WriteHeader(http.StatusNoContent)
	}
	b.origin("bound.allowed.test", note)
	b.origin("www.allowed.test", note)
	b.origin("ws.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionContextTakeover})
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(1 << 20)
		for {
			kind, msg, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, msg[:1]) != nil {
				return
			}
		}
	})
	env = b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding, strictBinding, honeyBinding}}, defaultPolicy)
	others = b.put(boundary.Spec{ID: "other", Bindings: []inject.Binding{binding}}, defaultPolicy)
	b.start()
	return b, env, others, arrived
}

// Decisions 19, 20 and 24. Ledger: SI-9. Case: C03, C05, C07
func TestWhatLeavesInABody(t *testing.T) {
	t.Parallel()
	b, env, others, arrived := leakBed(t)
	basic64 := base64.StdEncoding.EncodeToString([]byte("user:" + env["API_TOKEN"]))
	cases := []struct {
		name, text string
		status     int
		kind       inject.FindKind
		env        string
		severity   string
	}{
		{"its own", env["API_TOKEN"], 204, inject.FoundPlaceholder, "API_TOKEN", audit.SeverityMedium},
		{"its own, encoded", basic64, 204, inject.FoundPlaceholder, "API_TOKEN", audit.SeverityMedium},
		{"strict", env["STRICT"], 403, inject.FoundPlaceholder, "STRICT", audit.SeverityHigh},
		{"honey", env["BAIT"], 204, inject.FoundHoney, "BAIT", audit.SeverityCritical},
		{"stolen", others["API_TOKEN"], 403, inject.FoundStolen, "API_TOKEN", audit.SeverityCritical},
		{"the secret itself", secret1, 403, inject.FoundSecret, "API_TOKEN", audit.SeverityCritical},
	}
	n := 0
	for _, h2 := range []bool{false, true} {
		for _, host := range []string{"bound.allowed.test", "www.allowed.test"} {
			for _, c := range cases {
				arrived.Store(nil)
				body := `{"messages":["` + strings.Repeat("x", 70<<10) + c.text + `"]}`
				// Of unknown length, a few bytes at a time.
				req, err := http.NewRequest("POST", "https://"+host+"/v1", io.MultiReader(strings.NewReader(body[:len(body)-20]), strings.NewReader(body[len(body)-20:])))
				b.must(err)
				resp, err := b.client(h2).Do(req)
				b.must(err)
				resp.Body.Close()
				n++
				rec := b.recorded(n)[n-1]
				got := arrived.Load()
				if resp.StatusCode != c.status || (c.status == 204) != (got != nil && string(*got) == body) {
					t.Errorf("%s to %s: %d", c.name, host, resp.StatusCode)
				}
				if len(rec.Finds) != 1 || rec.Finds[0].Kind != c.kind || rec.Finds[0].Where != "body" || rec.Severity != c.severity ||
					(rec.Verdict == audit.VerdictAllow) != (c.status == 204) {
					t.Errorf("%s to %s: record %+v", c.name, host, rec)
				}
			}
		}
	}
	requireNoSecret(t, b)
}

func requireNoSecret(t *testing.T, b *bed) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	all, err := json.Marshal(b.records)
	b.must(err)
	for _, text := range []string{secret1, base64.StdEncoding.EncodeToString([]byte(secret1))[:20]} {
		if bytes.Contains(all, []byte(text)) {
			t.Error("a record holds the secret")
		}
	}
}

// Decisions 20 and 24. Case: C07
func TestWhatLeavesInAHead(t *testing.T) {
	t.Parallel()
	b, env, others, arrived := leakBed(t)
	cases := []struct {
		name, text, reason, severity string
	}{
		{"honey", env["BAIT"], "placeholder_wrong_host", audit.SeverityCritical},
		{"stolen", others["API_TOKEN"], "placeholder_wrong_host", audit.SeverityCritical},
		{"the secret itself", secret1, "secret_leak", audit.SeverityCritical},
		{"its own", env["API_TOKEN"], "placeholder_wrong_host", audit.SeverityHigh},
	}
	n := 0
	for _, c := range cases {
		for _, place := range []string{"header", "query", "path", "denied host", "cleartext"} {
			req, err := http.NewRequest("GET", "https://bound.allowed.test/", nil)
			b.must(err)
			switch place {
			case "header":
				req.Header.Set("X-Note", c.text)
			case "query":
				req.URL.RawQuery = "q=" + c.text
			case "path":
				req.URL.Path = "/" + c.text
			case "denied host":
				req.URL.Scheme, req.URL.Host, req.Host = "http", "denied.allowed.test", ""
				req.Header.Set("X-Note", c.text)
			case "cleartext":
				req.URL.Scheme = "http"
				req.Header.Set("X-Note", c.text)
			}
			resp, err := b.client(false).Do(req)
			b.must(err)
			resp.Body.Close()
			n++
			rec := b.recorded(n)[n-1]
			reason, severity := c.reason, c.severity
			if place == "denied host" {
				reason = "network_policy_denied"
				if severity == audit.SeverityHigh {
					severity = audit.SeverityMedium
				}
			}
			if resp.StatusCode != 403 || resp.Header.Get("X-Edge-Reason") != reason || rec.Severity != severity || len(rec.Finds) != 1 {
				t.Errorf("%s in %s: %d %s, record %+v", c.name, place, resp.StatusCode, resp.Header.Get("X-Edge-Reason"), rec)
			}
		}
	}
	if arrived.Load() != nil {
		t.Error("something went out")
	}
	requireNoSecret(t, b)
}

// In the CONNECT request and in a name that DNS is asked for.
func TestWhatLeavesInNames(t *testing.T) {
	t.Parallel()
	b, env, others, _ := leakBed(t)
	for i, text := range []string{env["API_TOKEN"], others["API_TOKEN"], env["BAIT"]} {
		k := b.dial(b.proxy)
		name := text + ".allowed.test"
		k.send("CONNECT " + name + ":443 HTTP/1.1\r\nHost: " + name + ":443\r\n\r\n")
		if resp, _ := k.response("GET"); resp.StatusCode/100 != 4 {
			t.Errorf("CONNECT %s: %d", name, resp.StatusCode)
		}
		k = b.dial(b.proxy)
		k.send("CONNECT www.allowed.test:443 HTTP/1.1\r\nHost: www.allowed.test:443\r\nUser-Agent: " + text + "\r\n\r\n")
		if resp, _ := k.response("GET"); resp.StatusCode != 403 {
			t.Errorf("CONNECT with %s: %d", text, resp.StatusCode)
		}
		q := new(dns.Msg).SetQuestion(strings.ToUpper(name)+".", dns.TypeA)
		answer, err := dns.Exchange(q, b.serveDNS())
		b.must(err)
		if answer.Rcode != dns.RcodeRefused {
			t.Errorf("query for %s: %s", name, dns.RcodeToString[answer.Rcode])
		}
		for _, rec := range b.recorded((i + 1) * 3)[i*3:] {
			if len(rec.Finds) != 1 || rec.Verdict != audit.VerdictDeny {
				t.Errorf("record %+v", rec)
			}
		}
	}
}

// serveDNS serves the box's DNS and returns its address.
func (b *bed) serveDNS() string {
	b.Helper()
	pc, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.edge.ServeDNS(ctx, pc, boxID) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("serve: %v", err)
		}
	})
	return pc.LocalAddr().String()
}

// In WebSocket messages, cut over frames. Case: C05
func TestWhatLeavesInMessages(t *testing.T) {
	t.Parallel()
	b, env, others, _ := leakBed(t)
	cases := []struct {
		name, text string
		refused    bool
		kind       inject.FindKind
		severity   string
	}{
		{"its own", env["API_TOKEN"], false, inject.FoundPlaceholder, audit.SeverityMedium},
		{"its own, encoded", base64.StdEncoding.EncodeToString([]byte("u" + env["API_TOKEN"] + "?")), false, inject.FoundPlaceholder, audit.SeverityMedium},
		{"strict", env["STRICT"], true, inject.FoundPlaceholder, audit.SeverityHigh},
		{"stolen", others["API_TOKEN"], true, inject.FoundStolen, audit.SeverityCritical},
		{"the secret itself", secret1, true, inject.FoundSecret, audit.SeverityCritical},
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for i, c := range cases {
		ws, _, err := websocket.Dial(ctx, "wss://ws.allowed.test/", &websocket.DialOptions{
			HTTPClient: b.client(false), CompressionMode: websocket.CompressionContextTakeover,
		})
		b.must(err)
		b.must(ws.Write(ctx, websocket.MessageText, bytes.Repeat([]byte("x"), 70000)))
		_, _, err = ws.Read(ctx)
		b.must(err)
		half := len(c.text) / 2
		b.must(ws.Write(ctx, websocket.MessageText, []byte("see "+c.text[:half])))
		_ = ws.Write(ctx, websocket.MessageText, []byte(c.text[half:]+" there"))
		// The answer to the first half may be lost when the second ends it all.
		_, _, err1 := ws.Read(ctx)
		if _, _, err = ws.Read(ctx); (errors.Join(err1, err) != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		ws.CloseNow()
		rec := b.recorded(i + 1)[i]
		if len(rec.Finds) != 1 || rec.Finds[0].Kind != c.kind || rec.Finds[0].Where != "message" || rec.Severity != c.severity ||
			(rec.Verdict == audit.VerdictDeny) != c.refused {
			t.Errorf("%s: record %+v", c.name, rec)
		}
	}
	requireNoSecret(t, b)
}

package edge_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/sallyport/sallyport/edge/boundary"
)

// Ledger: ED-26
func TestRequestLimit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", func(http.ResponseWriter, *http.Request) {})
	b.put(boundary.Spec{ID: boxID, Limits: boundary.Limits{RequestsPerSecond: 1}}, defaultPolicy)
	b.put(boundary.Spec{ID: "other"}, defaultPolicy)
	b.start()
	box, other := b.client(true), b.clientOf(b.serveProxy("other"))
	refused := 0
	for range 20 {
		resp, _ := b.get(box, "https://www.allowed.test/")
		if resp.StatusCode == 200 {
			continue
		}
		refused++
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if resp.StatusCode != 429 || resp.Header.Get("X-Edge-Reason") != "rate_limited" || err != nil || seconds < 1 {
			t.Fatalf("%d %v", resp.StatusCode, resp.Header)
		}
		// The hog's limit is its own.
		if resp, _ := b.get(other, "https://www.allowed.test/"); resp.StatusCode != 200 {
			t.Fatalf("the other boundary: %d", resp.StatusCode)
		}
	}
	if refused == 0 {
		t.Error("20 requests at once, and a limit of 1 a second")
	}
	// A replacement's limits count at once.
	b.put(boundary.Spec{ID: boxID}, defaultPolicy)
	for range 5 {
		if resp, _ := b.get(box, "https://www.allowed.test/"); resp.StatusCode != 200 {
			t.Fatalf("without a limit: %d", resp.StatusCode)
		}
	}
}

// Ledger: ED-26
func TestTunnelLimit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.Limits = boundary.Limits{Tunnels: 2}
	b.start()
	first := b.connect("www.allowed.test:443")
	b.connect("www.allowed.test:443")
	status := func() (int, string) {
		k := b.dial(b.proxy)
		defer k.Close()
		k.send("CONNECT www.allowed.test:443 HTTP/1.1\r\nHost: www.allowed.test:443\r\n\r\n")
		resp, err := http.ReadResponse(k.br, &http.Request{Method: http.MethodConnect})
		b.must(err)
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	if code, after := status(); code != 429 || after == "" {
		t.Errorf("third tunnel: %d, Retry-After %q", code, after)
	}
	first.Close()
	deadline := time.Now().Add(10 * time.Second)
	for code, _ := status(); code != 200; code, _ = status() {
		if time.Now().After(deadline) {
			t.Fatalf("a closed tunnel isn't given back: %d", code)
		}
	}
}

// One that takes all it can get leaves the others their share. Ledger: ED-25, ED-26
func TestHogLeavesShares(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.MaxTunnels = 40
	b.put(boundary.Spec{ID: "other"}, defaultPolicy)
	b.start()
	other := b.serveProxy("other")
	open := func(proxy string) int {
		k := b.dial(proxy)
		k.send("CONNECT www.allowed.test:443 HTTP/1.1\r\nHost: www.allowed.test:443\r\n\r\n")
		resp, err := http.ReadResponse(k.br, &http.Request{Method: http.MethodConnect})
		b.must(err)
		if resp.StatusCode != 200 && (resp.StatusCode != 503 || resp.Header.Get("X-Edge-Reason") != "edge_overloaded" || resp.Header.Get("Retry-After") == "") {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
		return resp.StatusCode
	}
	open(other)
	hog, rest := 0, 1
	for range 60 {
		if open(b.proxy) == 200 {
			hog++
		}
	}
	for range 60 {
		if open(other) == 200 {
			rest++
		}
	}
	if hog < 20 || hog > 30 || hog+rest != 40 {
		t.Errorf("the hog has %d tunnels, the other %d, of 40", hog, rest)
	}
}

// Bytes are slowed down, not refused, in both directions and in tunnels.
// Ledger: ED-26
func TestByteLimits(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const size, perSecond = 160 << 10, 100 << 10 // so at least 0.6 s
	b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			_, _ = w.Write(make([]byte, size))
		}
	})
	echo := b.listen()
	b.pin("www.allowed.test", 7, echo)
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	limits := boundary.Limits{UploadBytesPerSecond: perSecond, DownloadBytesPerSecond: perSecond}
	for _, id := range []string{"up", "down", "tunnel"} {
		b.put(boundary.Spec{ID: id, Limits: limits}, defaultPolicy)
	}
	b.start()
	var wg sync.WaitGroup
	timed := func(name string, f func() error) {
		wg.Go(func() {
			start := time.Now()
			if err := f(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(start); took < 500*time.Millisecond {
				t.Errorf("%s: %d bytes at %d a second took %v", name, size, perSecond, took)
			}
		})
	}
	up, down, tunnel := b.clientOf(b.serveProxy("up")), b.clientOf(b.serveProxy("down")), b.serveProxy("tunnel")
	timed("up", func() error {
		resp, err := up.Post("https://www.allowed.test/", "", bytes.NewReader(make([]byte, size)))
		if err == nil {
			resp.Body.Close()
		}
		return err
	})
	timed("down", func() error {
		resp, err := down.Get("https://www.allowed.test/")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	})
	timed("tunnel", func() error {
		c, err := net.Dial("tcp", tunnel)
		if err != nil {
			return err
		}
		defer c.Close()
		_, _ = io.WriteString(c, "CONNECT www.allowed.test:7 HTTP/1.1\r\nHost: www.allowed.test:7\r\n\r\n")
		go func() { _, _ = io.WriteString(c, strings.Repeat("\x00", size)) }()
		_, err = io.CopyN(io.Discard, c, size)
		return err
	})
	wg.Wait()
}

// Ledger: ED-26, ED-32
func TestDNSLimit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.put(boundary.Spec{ID: boxID, Limits: boundary.Limits{DNSQueriesPerSecond: 1}}, defaultPolicy)
	b.start()
	pc, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.edge.ServeDNS(ctx, pc, boxID) }()
	defer func() { cancel(); b.must(<-done) }()
	codes := map[int]int{}
	for range 10 {
		m := new(dns.Msg)
		m.SetQuestion("www.allowed.test.", dns.TypeA)
		reply, _, err := new(dns.Client).Exchange(m, pc.LocalAddr().String())
		b.must(err)
		codes[reply.Rcode]++
	}
	if codes[dns.RcodeSuccess] == 0 || codes[dns.RcodeRefused] == 0 {
		t.Errorf("codes %v", codes)
	}
}

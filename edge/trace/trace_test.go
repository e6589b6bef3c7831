package trace_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/trace"
	"github.com/sallyport/sallyport/inject"
)

// listen is a collector: it returns its endpoint and what it has received.
func listen(t *testing.T) (endpoint string, received func() []*spans.Span) {
	t.Helper()
	var mu sync.Mutex
	var all []*spans.Span
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				all = append(all, scope.Spans...)
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1/traces", func() []*spans.Span { mu.Lock(); defer mu.Unlock(); return all }
}

func sum(t *testing.T, o trace.Options, records ...audit.Record) (next []audit.Record) {
	t.Helper()
	tracer, err := trace.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	sink := tracer.Sink(audit.SinkFunc(func(r audit.Record) { next = append(next, r) }))
	for _, r := range records {
		sink.Record(r)
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return next
}

var began = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func TestSpan(t *testing.T) {
	t.Parallel()
	endpoint, received := listen(t)
	next := sum(t, trace.Options{Endpoint: endpoint}, audit.Record{
		Time: began, DurationMS: 1500, Boundary: "box", RequestID: "R1", Mode: audit.ModeExplicit, Protocol: "h2", Method: "GET",
		Host: "api.example.com", Port: 443, Path: "/secret-path", Detail: "secret-detail", Verdict: audit.VerdictDeny,
		Reason: "network_policy_denied", Severity: audit.SeverityLow, Status: 403, BytesUp: 7, BytesDown: 8, Rule: -1,
		Labels: map[string]string{"k": "secret-label"}, Address: "secret-address", Glob: "secret-glob",
		Injected: []inject.Injected{{Env: "SECRET_ENV"}},
	})
	if len(next) != 1 || next[0].Path != "/secret-path" {
		t.Errorf("passed on: %+v", next)
	}
	got := received()
	if len(got) != 1 {
		t.Fatalf("%d spans", len(got))
	}
	s := got[0]
	if s.Name != "crossing explicit" || s.StartTimeUnixNano != uint64(began.UnixNano()) || s.EndTimeUnixNano-s.StartTimeUnixNano != 1.5e9 ||
		len(s.ParentSpanId) != 0 || s.Status.GetCode() != spans.Status_STATUS_CODE_ERROR {
		t.Errorf("%v", s)
	}
	attributes := map[string]string{}
	for _, a := range s.Attributes {
		attributes[a.Key] = a.Value.String()
	}
	for key, want := range map[string]string{
		"sallyport.boundary": "box", "sallyport.request_id": "R1", "sallyport.reason": "network_policy_denied", "sallyport.rule": "-1",
		"http.response.status_code": "403", "server.address": "api.example.com", "server.port": "443", "sallyport.injected": "1",
	} {
		if !strings.Contains(attributes[key], want) {
			t.Errorf("%s is %q, want %s", key, attributes[key], want)
		}
	}
	if text := strings.ToLower(s.String()); strings.Contains(text, "secret") {
		t.Errorf("the span holds more than it should: %s", text)
	}
}

// A share of the crossings makes spans, and every refusal does.
func TestSample(t *testing.T) {
	t.Parallel()
	endpoint, received := listen(t)
	var records []audit.Record
	for i := range 400 {
		verdict := audit.VerdictAllow
		if i%4 == 0 {
			verdict = audit.VerdictDeny
		}
		records = append(records, audit.Record{Time: began, Mode: audit.ModeExplicit, Verdict: verdict})
	}
	next := sum(t, trace.Options{Endpoint: endpoint, Sample: 0.1}, records...)
	refused, rest := 0, 0
	for _, s := range received() {
		if s.Status.GetCode() == spans.Status_STATUS_CODE_ERROR {
			refused++
		} else {
			rest++
		}
	}
	if len(next) != 400 || refused != 100 || rest == 0 || rest > 150 {
		t.Errorf("%d passed on, %d refusals, %d of 300 others", len(next), refused, rest)
	}
}

// A collector that is away holds up nobody.
func TestCollectorAway(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	tracer, err := trace.New(t.Context(), trace.Options{Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	sink := tracer.Sink(audit.SinkFunc(func(audit.Record) { passed++ }))
	for range 10_000 { // more than are kept for later
		sink.Record(audit.Record{Time: began, Verdict: audit.VerdictAllow})
	}
	if passed != 10_000 {
		t.Errorf("%d passed on", passed)
	}
	if err := tracer.Close(canceled(t)); err == nil {
		t.Error("nothing says that traces were lost")
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

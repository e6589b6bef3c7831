package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// An edge that is told of a collector sends it a span of each crossing, those
// last before its end too; and its log is JSON if that is asked for.
func TestTracing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					names = append(names, s.String())
				}
			}
		}
	}))
	defer server.Close()
	s := serveEdge(t, map[string]string{
		"edge.yaml": configuration("allowed.test") + "tracing: {endpoint: '" + server.URL + "'}\n", "token": token,
	}, "--log-format", "json")
	if status := s.proxyStatus("denied.test"); status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, s.stderr)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(names) != 1 || !strings.Contains(names[0], "denied.test") || strings.Contains(names[0], token) {
		t.Errorf("spans: %q", names)
	}
	lines := strings.Split(strings.TrimSpace(s.stderr.String()), "\n")
	for _, line := range lines {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Msg == "" {
			t.Errorf("%s: %v", line, err)
		}
	}
}

package edge_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// Ledger: ED-29
func TestDrain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	began, finish := make(chan struct{}), make(chan struct{})
	b.origin("www.allowed.test", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "be")
		_ = http.NewResponseController(w).Flush()
		close(began)
		<-finish
		_, _ = io.WriteString(w, "gun")
	})
	b.start()
	body := make(chan string, 1)
	go func() {
		_, text := b.get(b.client(false), "https://www.allowed.test/")
		body <- text
	}()
	<-began
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := b.edge.Drain(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drained with a crossing under way: %v", err)
	}
	if c, err := net.Dial("tcp", b.proxy); err == nil {
		c.Close()
		t.Error("a draining edge accepts connections")
	}
	close(finish)
	if text := <-body; text != "begun" {
		t.Errorf("what was under way ended as %q", text)
	}
	long, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	b.must(b.edge.Drain(long))
	if s := b.edge.Stats(); s.Crossings != 0 {
		t.Errorf("stats %+v", s)
	}
}

package harness

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// Received is one request as an origin saw it, and the answer that it gives.
type Received struct {
	Method string      `json:"method"`
	Host   string      `json:"host"`
	Path   string      `json:"path"`
	Proto  string      `json:"proto"`
	Header http.Header `json:"header"`
	Body   string      `json:"body,omitempty"`
}

// Origin is a server that remembers each request and answers with what it
// received, credentials included. Without a certificate it speaks plain HTTP.
type Origin struct {
	server *httptest.Server
	mux    *http.ServeMux

	mu       sync.Mutex
	received []Received
}

// NewOrigin starts an origin on a loopback port; cert may be nil.
func NewOrigin(cert *tls.Certificate) *Origin {
	o := &Origin{mux: http.NewServeMux()}
	o.mux.HandleFunc("/", o.echo)
	o.server = httptest.NewUnstartedServer(o.record(o.mux))
	if cert == nil {
		o.server.Start()
		return o
	}
	o.server.EnableHTTP2 = true
	o.server.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}
	o.server.StartTLS()
	return o
}

// Handle gives requests below path to h instead of echoing them.
func (o *Origin) Handle(path string, h http.Handler) { o.mux.Handle(path, h) }

// Addr returns the loopback address that the origin listens on.
func (o *Origin) Addr() string { return o.server.Listener.Addr().String() }

// Received returns the requests so far, oldest first.
func (o *Origin) Received() []Received {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.received)
}

// Close stops the origin.
func (o *Origin) Close() {
	o.server.CloseClientConnections()
	o.server.Close()
}

// record remembers the head of each request before it is answered.
func (o *Origin) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.received = append(o.received, head(r))
		o.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func (o *Origin) echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, fmt.Sprintf("read body: %v", err), http.StatusBadRequest)
		return
	}
	answer := head(r)
	answer.Body = string(body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the client sees a short answer
}

func head(r *http.Request) Received {
	return Received{Method: r.Method, Host: r.Host, Path: r.URL.Path, Proto: r.Proto, Header: r.Header.Clone()}
}

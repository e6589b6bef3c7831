package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/keyring"
)

// Secrets keeps the secrets that are pushed over the socket. *memory.Source is
// one.
type Secrets interface {
	Set(name string, value []byte) error
	Delete(name string) (existed bool)
	Versions() map[string]string // by name
}

// Options of a Server. All but Keyring, Problem and Check are required.
type Options struct {
	Table   *boundary.Table
	Key     inject.Key // from which placeholders are derived
	Fronts  Fronts
	Secrets Secrets
	Keyring *keyring.Keyring // nil: an edge that keeps nothing
	CA      string           // the certificate, PEM
	Log     *slog.Logger
	// Problem returns what ails the edge, or "". nil means that nothing does.
	Problem func() string
	// Check refuses a boundary that compiles but can't be served; nil refuses
	// none. The error's text begins with a path below the spec.
	Check func(boundary.Spec) error
}

// Server serves the control socket.
type Server struct {
	options Options

	changing sync.Mutex // guards open, and keeps it in step with the table
	open     map[string]*doors
	stopped  bool
}

// NewServer returns a Server that has no boundary open.
func NewServer(o Options) *Server {
	if o.Problem == nil {
		o.Problem = func() string { return "" }
	}
	return &Server{options: o, open: map[string]*doors{}}
}

// Serve answers on ln until ctx is done, then closes ln and every boundary
// that was opened over it. Descriptors that arrived are served under ctx. It
// returns nil on such a stop.
func (s *Server) Serve(ctx context.Context, ln *Socket) error {
	server := &http.Server{
		Handler:           s.routes(ctx),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	server.SetKeepAlivesEnabled(false) // a connection's descriptors are its one request's
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(peerListener{ln, s.options.Log}) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	closeErr := server.Shutdown(shutdown)
	if closeErr != nil {
		closeErr = errors.Join(closeErr, server.Close())
	}
	s.closeAll()
	if err != nil {
		err = fmt.Errorf("serve control socket: %w", err)
	}
	return errors.Join(err, closeErr)
}

type connKey struct{}

// descriptors takes what arrived with the request.
func descriptors(r *http.Request) []*os.File {
	conn, ok := r.Context().Value(connKey{}).(*rightsConn)
	if !ok {
		return nil
	}
	return conn.take()
}

// openBoundary opens or replaces a boundary; ctx is that of its listeners.
func (s *Server) openBoundary(ctx context.Context, req OpenRequest, files []*os.File) (OpenResponse, error) {
	b, err := boundary.Compile(req.Spec, s.options.Key)
	if err != nil {
		return OpenResponse{}, invalid(fmt.Errorf("spec.%w", err))
	}
	if check := s.options.Check; check != nil {
		if err := check(req.Spec); err != nil {
			return OpenResponse{}, invalid(fmt.Errorf("spec.%w", err))
		}
	}
	fresh, err := newDoors(s.options.Fronts, req.Listeners, files)
	if err != nil {
		return OpenResponse{}, invalid(err)
	}
	replaced, err := s.install(ctx, b, fresh)
	if err != nil {
		return OpenResponse{}, err
	}
	replaced.close()
	return OpenResponse{Env: placeholders(b)}, nil
}

// install puts b into the table and serves its fresh doors. It returns the
// doors that these replace, for the caller to close.
func (s *Server) install(ctx context.Context, b *boundary.Boundary, fresh []door) (*doors, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.stopped {
		for _, d := range fresh {
			d.Close()
		}
		return nil, errStopping
	}
	s.options.Table.Put(b)
	if len(fresh) == 0 {
		return nil, nil
	}
	old := s.open[b.ID]
	s.open[b.ID] = openDoors(ctx, fresh, b.ID, s.options.Log)
	return old, nil
}

// closeBoundary closes a boundary and its listeners.
func (s *Server) closeBoundary(id string) error {
	s.changing.Lock()
	existed := s.options.Table.Delete(id)
	old := s.open[id]
	delete(s.open, id)
	s.changing.Unlock()
	old.close()
	if !existed {
		return errNoBoundary
	}
	return nil
}

func (s *Server) closeAll() {
	s.changing.Lock()
	s.stopped = true
	open := s.open
	s.open = nil
	for id := range open {
		s.options.Table.Delete(id)
	}
	s.changing.Unlock()
	for _, d := range open {
		d.close()
	}
}

// placeholders returns the environment of b, an empty map rather than nil, so
// that JSON has an object.
func placeholders(b *boundary.Boundary) map[string]string {
	if env := b.Bindings.Env(); env != nil {
		return env
	}
	return map[string]string{}
}

package edge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/broker/gitcred"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/strict"
	"github.com/sallyport/sallyport/policy"
)

const (
	protocolGit = "git-credential"
	// maxQuestion bounds what the helper may send.
	maxQuestion = 128 << 10
)

// ServeBroker answers the credential helper of the boundary named boundaryID
// on ln, which it closes, until ctx is done: whoever connects there is that
// sandbox (decision 26). It returns once every request has ended, with nil if
// ctx or the listener was closed.
func (e *Edge) ServeBroker(ctx context.Context, ln net.Listener, boundaryID string) error {
	ctx, cancel := context.WithCancel(ctx)
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	d := &desk{edge: e, boundary: boundaryID}
	mux := http.NewServeMux()
	for path, answer := range map[string]func(context.Context, *question) (any, error){
		gitcred.PathGet: d.get, gitcred.PathErase: d.erase,
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, answer) })
	}
	server := &http.Server{
		Handler: mux,
		// Close doesn't wait for the connections that it ends.
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				conns.Add(1)
			case http.StateClosed, http.StateHijacked:
				conns.Done()
			case http.StateActive, http.StateIdle:
			}
		},
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: e.opts.Timeouts.Header,
		ReadTimeout:       e.opts.Timeouts.Header,
		IdleTimeout:       e.opts.Timeouts.Header,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(e.opts.Log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.Serve(ln)
	server.Close()
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// desk answers the questions of one sandbox.
type desk struct {
	edge     *Edge
	boundary string
}

// question is one request to the desk, and its record.
type question struct {
	body []byte
	rec  *audit.Record
}

// serve decodes, asks and encodes, and leaves one record.
func (d *desk) serve(w http.ResponseWriter, r *http.Request, answer func(context.Context, *question) (any, error)) {
	start := time.Now()
	rec := audit.Record{
		Time: start, Boundary: d.boundary, RequestID: rand.Text(), Mode: audit.ModeBroker, Protocol: protocolGit,
		Verdict: audit.VerdictDeny, Rule: policy.DefaultRule, Path: r.URL.EscapedPath(),
	}
	defer func() {
		rec.DurationMS = time.Since(start).Milliseconds()
		d.edge.opts.Audit.Record(rec)
	}()
	var body any
	b := d.edge.opts.Table.Get(d.boundary)
	question := &question{rec: &rec}
	var err error
	if b == nil {
		err = &refusal.Refusal{Code: refusal.IdentityRequired, Detail: "no such boundary"}
	} else {
		rec.Labels = b.Labels
		if question.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion)); err != nil {
			err = &refusal.Refusal{Code: refusal.BadRequest, Detail: err.Error()}
		} else {
			body, err = answer(r.Context(), question)
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case errors.Is(err, broker.ErrNotBrokered):
		rec.Reason, rec.Status = "not_brokered", http.StatusNoContent
		w.WriteHeader(rec.Status)
	case err != nil:
		refused := brokerRefusal(err)
		refused.Host, refused.RequestID = rec.Host, rec.RequestID
		rec.Reason, rec.Severity = string(refused.Code), refused.Code.Severity()
		rec.Detail, rec.Status = refused.Detail, refused.Status()
		refused.ServeHTTP(w, r)
	case body == nil:
		rec.Verdict, rec.Reason, rec.Status = audit.VerdictAllow, string(policy.ReasonAllowed), http.StatusNoContent
		w.WriteHeader(rec.Status)
	default:
		rec.Verdict, rec.Reason, rec.Status = audit.VerdictAllow, string(policy.ReasonAllowed), http.StatusOK
		w.Header().Set("Content-Type", "application/json")
		// The helper has gone if this fails.
		_ = json.NewEncoder(w).Encode(body)
	}
}

func (d *desk) get(ctx context.Context, q *question) (any, error) {
	var req gitcred.GetRequest
	if err := strict.JSON(q.body, &req); err != nil {
		return nil, &refusal.Refusal{Code: refusal.BadRequest, Detail: err.Error()}
	}
	q.rec.Method, q.rec.Host, q.rec.Path = "get", req.Host, "/"+req.Path
	if d.edge.opts.Broker == nil {
		return nil, broker.ErrNotBrokered
	}
	got, err := d.edge.opts.Broker.Get(ctx, d.boundary, req.Host, req.Path, broker.Read)
	if err != nil {
		return nil, err
	}
	q.rec.Host, q.rec.Git = got.Grant.Host.String(), gitRecord(got.Grant, got.Access)
	if got.Grant.Auth == broker.AuthEdge {
		return d.placeholder(got)
	}
	q.rec.Git.TokenHash, q.rec.Git.Expires = broker.TokenHash(got.Password), got.Expires
	return gitcred.GetResponse{Username: got.Username, Password: string(got.Password.Reveal()), ExpiresAt: got.Expires}, nil
}

// placeholder answers in place of a credential that can be had.
func (d *desk) placeholder(got broker.Answer) (any, error) {
	var held string
	if b := d.edge.opts.Table.Get(d.boundary); b != nil {
		held = b.Bindings.Placeholder(got.Grant.TokenEnv)
	}
	if held == "" {
		return nil, broker.ErrClosed
	}
	return gitcred.GetResponse{Username: got.Username, Password: held}, nil
}

func (d *desk) erase(_ context.Context, q *question) (any, error) {
	var req gitcred.EraseRequest
	if err := strict.JSON(q.body, &req); err != nil {
		return nil, &refusal.Refusal{Code: refusal.BadRequest, Detail: err.Error()}
	}
	q.rec.Method, q.rec.Host, q.rec.Path = "erase", req.Host, "/"+req.Path
	if d.edge.opts.Broker != nil {
		d.edge.opts.Broker.Erase(d.boundary, req.Host, req.Path, req.PasswordSHA256)
	}
	return nil, nil
}

// brokerRefusal is the one map from an error of the broker to a refusal. What
// isn't known is a fault of ours.
func brokerRefusal(err error) *refusal.Refusal {
	var known *refusal.Refusal
	if errors.As(err, &known) {
		return known
	}
	r := &refusal.Refusal{Code: refusal.GitAuthUnavailable, Detail: err.Error()}
	var limited *broker.RateLimitError
	switch {
	case errors.Is(err, broker.ErrNotGranted), errors.Is(err, broker.ErrReadOnly):
		r.Code = refusal.RepositoryNotGranted
	case errors.Is(err, broker.ErrRefused):
		r.Code = refusal.GitRefused
	case errors.Is(err, broker.ErrTooMany):
		r.Code = refusal.RateLimited
	case errors.As(err, &limited):
		r.Code = refusal.RateLimited
		r.RetryAfterSeconds = max(1, int(limited.After.Seconds()))
	}
	return r
}

func gitRecord(g broker.Granted, access broker.Access) *audit.Git {
	return &audit.Git{Repository: g.Repository.String(), Access: string(access), Issuer: g.Issuer}
}

// GitEvents returns what writes a broker's events to sink. A credential that
// couldn't be revoked lives on: somebody must look at it.
func GitEvents(sink audit.Sink, table *boundary.Table) func(broker.Event) {
	return func(e broker.Event) {
		r := audit.Record{
			Time: time.Now(), Boundary: e.Sandbox, Mode: audit.ModeBroker, Protocol: protocolGit,
			Host: e.Grant.Host.String(), Path: "/" + e.Grant.Repository.String(),
			Verdict: audit.VerdictAllow, Rule: policy.DefaultRule, Reason: string(e.Kind), Git: gitRecord(e.Grant, e.Access),
		}
		r.Git.TokenHash, r.Git.Expires = e.TokenHash, e.Expires
		if b := table.Get(e.Sandbox); b != nil {
			r.Labels = b.Labels
		}
		if e.Err != nil {
			r.Verdict, r.Detail, r.Severity = audit.VerdictDeny, e.Err.Error(), audit.SeverityMedium
		}
		if e.Kind == broker.RevokeFailed {
			r.Severity = audit.SeverityHigh
		}
		sink.Record(r)
	}
}

// GitLookup returns what a broker finds a boundary's grants with.
func GitLookup(table *boundary.Table) func(sandbox string) (*broker.Grants, <-chan struct{}) {
	return func(sandbox string) (*broker.Grants, <-chan struct{}) {
		b := table.Get(sandbox)
		if b == nil {
			return nil, nil
		}
		return b.Git, b.Replaced()
	}
}

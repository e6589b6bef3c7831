package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/trace"
)

// traceWithin is how long an edge that stops waits for its collector.
const traceWithin = 5 * time.Second

// newTracer returns the tracer of a configuration, or nil if it has none.
func newTracer(c *config.Config, log *slog.Logger) (*trace.Tracer, error) {
	if c.Tracing == nil {
		return nil, nil //nolint:nilnil // tracing is off
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are lost", "error", err) }))
	return trace.New(context.Background(), trace.Options{Endpoint: c.Tracing.Endpoint, Sample: c.Tracing.Sample})
}

// closeTracer sends what is left. A collector that is away stops nobody.
func (d *daemon) closeTracer(ctx context.Context) {
	if d.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, traceWithin)
	defer cancel()
	if err := d.tracer.Close(ctx); err != nil {
		d.log.Warn("traces are lost", "error", fmt.Errorf("stop: %w", err))
	}
}

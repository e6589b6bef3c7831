// Package trace sends one span per crossing to an OpenTelemetry collector, by
// OTLP over HTTP. It is off unless the configuration names a collector.
//
// [New] makes a Tracer, [Tracer.Sink] makes the spans from what passes on its
// way to the audit log, and [Tracer.Close] sends what is left. It is for
// whoever runs the edge.
//
// Security promise: a span holds nothing that the audit record doesn't, and no
// path, no detail and nothing of what was injected or found. What a sandbox
// sends as traceparent isn't heeded. Tracing never holds up a crossing: what
// the collector doesn't take is dropped, and what must not be lost is in the
// audit log.
package trace

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"

	"github.com/sallyport/sallyport/edge/audit"
)

// Options of a Tracer.
type Options struct {
	// Endpoint is the URL of the collector, such as
	// "https://collector.example.com:4318/v1/traces"; required.
	Endpoint string
	// Sample is the share of crossings that make a span, from above 0 to 1; 0
	// means all. Refused crossings always make one.
	Sample float64
}

// Tracer makes spans and sends them in batches. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   api.Tracer
}

// New returns a Tracer. It doesn't wait for the collector. Close it.
func New(ctx context.Context, o Options) (*Tracer, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Endpoint))
	if err != nil {
		return nil, fmt.Errorf("make exporter of traces: %w", err)
	}
	sampler := sdk.AlwaysSample()
	if o.Sample > 0 && o.Sample < 1 {
		sampler = refusalsOr{sdk.TraceIDRatioBased(o.Sample)}
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter),
		sdk.WithSampler(sampler),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "sallyport-edge"))),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/sallyport/sallyport/edge")}, nil
}

// Close sends what is left, until ctx is done, and stops.
func (t *Tracer) Close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send last traces: %w", err)
	}
	return nil
}

// Sink returns a sink that makes a span of each record and passes it on to
// next.
func (t *Tracer) Sink(next audit.Sink) audit.Sink {
	return audit.SinkFunc(func(r audit.Record) {
		t.span(r)
		next.Record(r)
	})
}

// Attribute keys, by OpenTelemetry's semantic conventions where they have one.
const (
	keyBoundary = "sallyport.boundary"
	keyRequest  = "sallyport.request_id"
	keyMode     = "sallyport.mode"
	keyVerdict  = "sallyport.verdict"
	keyReason   = "sallyport.reason"
	keySeverity = "sallyport.severity"
	keyRule     = "sallyport.rule"
	keyInjected = "sallyport.injected"
	keyUp       = "sallyport.bytes_up"
	keyDown     = "sallyport.bytes_down"
	keyProtocol = "network.protocol.name"
	keyMethod   = "http.request.method"
	keyStatus   = "http.response.status_code"
	keyHost     = "server.address"
	keyPort     = "server.port"
)

func (t *Tracer) span(r audit.Record) {
	attributes := []attribute.KeyValue{
		attribute.String(keyBoundary, r.Boundary), attribute.String(keyRequest, r.RequestID),
		attribute.String(keyMode, r.Mode), attribute.String(keyProtocol, r.Protocol),
		attribute.String(keyVerdict, r.Verdict), attribute.String(keyReason, r.Reason), attribute.Int(keyRule, r.Rule),
		attribute.String(keyHost, r.Host), attribute.Int(keyPort, int(r.Port)),
		attribute.Int64(keyUp, r.BytesUp), attribute.Int64(keyDown, r.BytesDown),
		attribute.Int(keyInjected, len(r.Injected)),
	}
	for key, value := range map[string]string{keyMethod: r.Method, keySeverity: r.Severity} {
		if value != "" {
			attributes = append(attributes, attribute.String(key, value))
		}
	}
	if r.Status != 0 {
		attributes = append(attributes, attribute.Int(keyStatus, r.Status))
	}
	_, span := t.tracer.Start(context.Background(), "crossing "+r.Mode,
		api.WithNewRoot(), api.WithSpanKind(api.SpanKindServer), api.WithTimestamp(r.Time), api.WithAttributes(attributes...))
	if r.Verdict == audit.VerdictDeny {
		span.SetStatus(codes.Error, r.Reason)
	}
	span.End(api.WithTimestamp(r.Time.Add(time.Duration(r.DurationMS) * time.Millisecond)))
}

// refusalsOr samples every refusal, and of the rest what another sampler does.
type refusalsOr struct{ rest sdk.Sampler }

// ShouldSample implements [sdk.Sampler].
func (s refusalsOr) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	for _, a := range p.Attributes {
		if a.Key == keyVerdict && a.Value.AsString() == audit.VerdictDeny {
			return sdk.SamplingResult{Decision: sdk.RecordAndSample}
		}
	}
	return s.rest.ShouldSample(p)
}

// Description implements [sdk.Sampler].
func (s refusalsOr) Description() string { return "Refusals+" + s.rest.Description() }

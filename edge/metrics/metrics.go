// Package metrics tells a Prometheus server how an edge is doing, and an
// orchestrator whether it is alive and ready.
//
// [Metrics.Sink] counts what passes on its way to the audit log;
// [Metrics.Handler] answers /metrics, /healthz and /readyz. It is for whoever
// runs the edge, on a listener that no sandbox can reach.
//
// Security promise: no label holds anything that a sandbox chose. Hosts, paths
// and boundaries are in the audit log; here they would leak, and a sandbox
// could make as many series as it likes.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/audit"
)

// Sources are what the gauges are read from at each scrape. All are required,
// and must be safe for concurrent use.
type Sources struct {
	Boundaries func() int         // open
	Tunnels    func() int         // open, of all boundaries
	Crossings  func() int         // under way
	Leaves     func() certs.Stats // of the certificate cache
}

// Metrics are the series of one edge, in a registry of their own. It is safe
// for concurrent use.
type Metrics struct {
	registry   *prometheus.Registry
	crossings  *prometheus.CounterVec
	injections prometheus.Counter
	bytes      *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
}

const namespace = "sallyport_edge"

// New returns Metrics that have counted nothing.
func New(s Sources) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		crossings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "crossings_total",
			Help: "Requests, tunnels and DNS queries by mode, verdict and reason.",
		}, []string{"mode", "verdict", "reason"}),
		injections: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "injections_total", Help: "Headers that a secret was written to.",
		}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "bytes_total", Help: "Bytes of bodies and tunnels by direction.",
		}, []string{"direction"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "crossing_duration_seconds",
			Help:    "From the head of a request, or the start of a tunnel, to its end.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 30, 300, 3600},
		}, []string{"protocol"}),
	}
	m.registry.MustRegister(m.crossings, m.injections, m.bytes, m.seconds,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("boundaries", "Open boundaries.", s.Boundaries),
		gauge("tunnels", "Open tunnels.", s.Tunnels),
		gauge("crossings", "Crossings under way.", s.Crossings),
		gauge("certificates_cached", "Leaf certificates in the cache.", func() int { return s.Leaves().Cached }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: namespace, Name: "certificates_minted_total", Help: "Leaf certificates signed.",
		}, func() float64 { return float64(s.Leaves().Minted) }),
	)
	return m
}

func gauge(name, help string, read func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help},
		func() float64 { return float64(read()) })
}

// Sink returns a sink that counts each record and passes it on to next.
func (m *Metrics) Sink(next audit.Sink) audit.Sink { return &sink{m, next} }

type sink struct {
	m    *Metrics
	next audit.Sink
}

// Record implements [audit.Sink]. Mode, verdict, reason and protocol are words
// of the edge's own.
func (s *sink) Record(r audit.Record) {
	s.m.crossings.WithLabelValues(r.Mode, r.Verdict, r.Reason).Inc()
	s.m.injections.Add(float64(len(r.Injected)))
	s.m.bytes.WithLabelValues("up").Add(float64(r.BytesUp))
	s.m.bytes.WithLabelValues("down").Add(float64(r.BytesDown))
	s.m.seconds.WithLabelValues(r.Protocol).Observe((time.Duration(r.DurationMS) * time.Millisecond).Seconds())
	s.next.Record(r)
}

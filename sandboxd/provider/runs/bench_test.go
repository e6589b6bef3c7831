package runs_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// BenchmarkColdStart measures from nothing to the first output of a command,
// and apart from that what it takes to stop.
func BenchmarkColdStart(b *testing.B) {
	p := newProvider(b)
	for i := 0; b.Loop(); i++ {
		n, err := p.Network(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		sb, err := p.Start(b.Context(), runs.Spec{ID: fmt.Sprintf("bench-%d-%d", os.Getpid(), i), Network: n})
		if err != nil {
			b.Fatal(err)
		}
		firstOutput(b, sb)
		b.StopTimer()
		if err := sb.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		_ = n.Close()
		b.StartTimer()
	}
}

func firstOutput(b *testing.B, sb *runs.Sandbox) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	p, err := sb.Exec(b.Context(), runs.Exec{Argv: []string{"/bin/sh", "-c", "echo ok"}, Stdout: w})
	_ = w.Close()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
		b.Fatal(err)
	}
	if _, err := p.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkExec(b *testing.B) {
	sb, _ := newSandbox(b, newProvider(b), nil)
	for b.Loop() {
		firstOutput(b, sb)
	}
}

func BenchmarkStop(b *testing.B) {
	p := newProvider(b)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		n, err := p.Network(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		sb, err := p.Start(b.Context(), runs.Spec{ID: fmt.Sprintf("bench-%d-%d", os.Getpid(), i), Network: n})
		if err != nil {
			b.Fatal(err)
		}
		firstOutput(b, sb)
		b.StartTimer()
		if err := sb.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		_ = n.Close()
	}
}

func BenchmarkNetwork(b *testing.B) {
	p := newProvider(b)
	for b.Loop() {
		n, err := p.Network(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		_ = n.Close()
	}
}

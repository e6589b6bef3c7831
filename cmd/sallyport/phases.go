package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

// phases shows where a setup run is: one line that is kept up to date on a
// terminal, a line for each phase elsewhere.
type phases struct {
	w    io.Writer
	live bool
	stop chan struct{} // closed at the end; nil until the clock runs
	tick sync.WaitGroup

	mu    sync.Mutex // guards what follows and w
	text  string
	since time.Time
}

func newPhases(w io.Writer) *phases {
	f, ok := w.(*os.File)
	return &phases{w: w, live: ok && term.IsTerminal(int(f.Fd())), since: time.Now()} //nolint:gosec // a descriptor
}

// show shows a run as it is now.
func (p *phases) show(run apiclient.SetupRun) {
	text := string(run.Status)
	if !ended(text) && text != "queued" && run.Phase != nil {
		text = string(*run.Phase)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == p.text {
		return
	}
	p.text = text
	if !p.live {
		fmt.Fprintf(p.w, "%s: %s\n", run.SetupRunId, text)
		return
	}
	p.draw()
	if p.stop == nil {
		p.stop = make(chan struct{})
		p.tick.Go(p.clock)
	}
}

// draw replaces the line, for a caller that holds mu.
func (p *phases) draw() {
	fmt.Fprintf(p.w, "\r\x1b[K%s %ds", p.text, int(time.Since(p.since).Seconds()))
}

// clock keeps the seconds going.
func (p *phases) clock() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		case <-p.stop:
			return
		}
	}
}

// end removes the line. Nothing is shown afterwards.
func (p *phases) end() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	p.tick.Wait()
	fmt.Fprint(p.w, "\r\x1b[K")
}

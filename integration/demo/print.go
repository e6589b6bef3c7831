package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
)

// printer writes the demo for a person to read.
type printer struct {
	w                       io.Writer
	bold, dim, green, plain string
}

// newPrinter colours only a terminal whose user hasn't asked for none.
func newPrinter(f *os.File) *printer {
	p := &printer{w: f}
	if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" {
		p.bold, p.dim, p.green, p.plain = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[0m"
	}
	return p
}

func (p *printer) opening() {
	fmt.Fprintf(p.w, `
%sSallyport: the one guarded way out of a sandbox%s

  An API at %s needs a key. The operator has it; the sandbox must not:
      %s
  Each command below runs in a fresh sandbox:
      sallyport run %s -- …
`, p.bold, p.plain, api, token, strings.Join(policyFlags, " "))
}

func (p *printer) step(n int, s step) {
	fmt.Fprintf(p.w, "\n%s%d. %s%s\n", p.bold, n, s.title, p.plain)
	if s.text != "" {
		fmt.Fprintf(p.w, "   %s\n", s.text)
	}
	script := cmp.Or(s.shown, s.command[len(s.command)-1])
	lines := strings.Split(strings.TrimSpace(script), "\n")
	for i, line := range lines {
		mark := "$"
		if i > 0 {
			mark = " "
		}
		fmt.Fprintf(p.w, "   %s%s %s%s\n", p.dim, mark, line, p.plain)
	}
}

func (p *printer) output(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			fmt.Fprintf(p.w, "   │ %s\n", line)
		}
	}
}

func (p *printer) holds(what string) {
	fmt.Fprintf(p.w, "   %s✓ %s%s\n", p.green, what, p.plain)
}

func (p *printer) failed(err error) {
	fmt.Fprintf(p.w, "   ✗ %v\n", err)
}

func (p *printer) closing() {
	fmt.Fprintf(p.w, "\n%sEvery step held.%s Try it on a job of yours: bin/sallyport run --help\n\n", p.bold, p.plain)
}

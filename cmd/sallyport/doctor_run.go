package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/certs/variables"
	"github.com/sallyport/sallyport/cmd/sallyport/doctor"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// doctorPath is where runtimes are looked for.
const doctorPath = "/workspace/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"

// examination is one run of the doctor.
type examination struct {
	probes  []doctor.Probe
	without []string
	timeout time.Duration
	plan    *runPlan
	origin  *doctor.Origin
}

// examination checks the flags.
func (f *doctorFlags) examination() (*examination, error) {
	x := &examination{without: f.without, timeout: f.timeout}
	if f.timeout <= 0 {
		return nil, usageErrorf("--timeout: expected a positive duration")
	}
	for _, name := range f.only {
		if !slices.Contains(probeNames(), name) {
			return nil, usageErrorf("--only %s: expected one of %s", name, strings.Join(probeNames(), ", "))
		}
	}
	for _, name := range f.without {
		if !slices.Contains(variables.Names(), name) {
			return nil, usageErrorf("--without %s: expected one of %s", name, strings.Join(variables.Names(), ", "))
		}
	}
	for _, p := range doctor.Probes() {
		if len(f.only) == 0 || slices.Contains(f.only, p.Name) {
			x.probes = append(x.probes, p)
		}
	}
	flags := &runFlags{image: f.image, workspace: f.workspace, user: "user"}
	if err := flags.absolute(); err != nil {
		return nil, err
	}
	x.plan = &runPlan{flags: flags, secrets: &runSecrets{}, git: &runGit{}}
	x.plan.policy = policy.Document{Rules: []policy.Rule{{HostGlob: "*." + doctor.Domain, Action: policy.Allow}}}
	return x, nil
}

// run examines each runtime in a sandbox and returns the results in the order
// of the probes.
func (x *examination) run(ctx context.Context, stderr io.Writer) (results []doctor.Result, err error) {
	dir, err := os.MkdirTemp("", "sallyport-doctor-")
	if err != nil {
		return nil, fmt.Errorf("make directory of the doctor: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if x.origin, err = doctor.Listen(); err != nil {
		return nil, err
	}
	served := make(chan error, 1)
	go func() { served <- x.origin.Serve() }()
	defer func() { err = errors.Join(err, x.origin.Close(), <-served) }()
	if err := x.complete(dir); err != nil {
		return nil, err
	}

	s := catchSignals()
	defer s.stop()
	var findings []doctor.Finding
	err = s.during(ctx, func(ctx context.Context) (err error) {
		r := &running{}
		defer func() { err = errors.Join(err, r.end(ctx)) }()
		if err := x.plan.prepare(ctx, r, stderr); err != nil {
			return err
		}
		if err := x.plan.start(ctx, r); err != nil {
			return err
		}
		if err := x.install(ctx, r); err != nil {
			return err
		}
		findings, err = x.probeAll(ctx, r)
		return err
	})
	var i interruption
	if errors.As(err, &i) {
		return nil, exitError{code: 128 + int(i.signal)}
	}
	if err != nil {
		return nil, err
	}
	// The edge has ended, so all records are there.
	return x.judge(findings)
}

// complete tells the plan where the origin is, and what the sandbox gets.
func (x *examination) complete(dir string) error {
	ca := filepath.Join(dir, "origin.pem")
	if err := os.WriteFile(ca, x.origin.CA(), 0o600); err != nil {
		return fmt.Errorf("write CA of the origin: %w", err)
	}
	x.plan.audit = filepath.Join(dir, "audit.jsonl")
	x.plan.upstream = config.DocumentUpstream{ExtraRoots: []string{ca}, Resolve: map[string]string{}}
	for _, p := range x.probes {
		for _, way := range p.Ways() {
			x.plan.upstream.Resolve[p.Host(way)+":443"] = x.origin.Addr()
		}
	}
	files, err := doctor.Files()
	if err != nil {
		return err
	}
	x.plan.files = map[string]runs.File{}
	for name, data := range files {
		x.plan.files[name] = runs.File{Data: data, Mode: 0o644}
	}
	return nil
}

// install puts a copy of this program into the sandbox. It is too large for a
// file of the sandbox's specification.
func (x *examination) install(ctx context.Context, r *running) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	defer self.Close()
	process, err := r.sandbox.Exec(ctx, runs.Exec{
		Argv: []string{"sh", "-c", `cat >"$0" && chmod 755 "$0"`, doctor.Program},
		Env:  []string{"PATH=" + doctorPath}, Dir: "/tmp", User: x.plan.flags.user, Stdin: self,
	})
	if err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	_, err = process.Wait(ctx) // the probe of Go is absent if it failed
	return err
}

// judge holds the findings against the edge's records.
func (x *examination) judge(findings []doctor.Finding) ([]doctor.Result, error) {
	records, err := recordsByHost(x.plan.audit)
	if err != nil {
		return nil, err
	}
	results := make([]doctor.Result, 0, len(findings))
	for _, f := range findings {
		f.Outcome.Records = records[f.Probe.Host(f.Way)]
		results = append(results, doctor.Judge(f))
	}
	return results, nil
}

// recordsByHost reads an audit file.
func recordsByHost(path string) (map[string][]audit.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read audit of the probes: %w", err)
	}
	defer f.Close()
	records := map[string][]audit.Record{}
	for d := json.NewDecoder(f); ; {
		var r audit.Record
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return records, nil
		} else if err != nil {
			return nil, fmt.Errorf("read audit of the probes: %w", err)
		}
		records[r.Host] = append(records[r.Host], r)
	}
}

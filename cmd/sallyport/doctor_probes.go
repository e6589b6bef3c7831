package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/url"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/cmd/sallyport/doctor"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// probeAll runs every probe, a few at a time, so that none runs out of time for
// the others' sake.
func (x *examination) probeAll(ctx context.Context, r *running) ([]doctor.Finding, error) {
	all := make([][]doctor.Finding, len(x.probes))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(min(runtime.NumCPU(), 4))
	for i, p := range x.probes {
		group.Go(func() (err error) {
			all[i], err = x.probe(ctx, r, p)
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(all...), err
}

// probe runs one probe in all its ways, if its runtime is there.
func (x *examination) probe(ctx context.Context, r *running, p doctor.Probe) ([]doctor.Finding, error) {
	have, err := x.shell(ctx, r, p.Have, x.environment(r, doctor.Explicit))
	if err != nil {
		return nil, err
	}
	version := strings.TrimSpace(have.Output)
	if have.Code != 0 || version == "" {
		return []doctor.Finding{{Probe: p}}, nil
	}
	version, _, _ = strings.Cut(version, "\n")
	var all []doctor.Finding
	for _, way := range p.Ways() {
		env := x.environment(r, way)
		env["HOST"], env["URL"], env["ANSWER"] = p.Host(way), "https://"+p.Host(way), x.origin.Answer()
		outcome, err := x.shell(ctx, r, p.Run, env)
		if err != nil {
			return nil, err
		}
		all = append(all, doctor.Finding{
			Probe: p, Version: version, Way: way, Outcome: outcome, Answer: x.origin.Answer(),
			Proxy: env["HTTPS_PROXY"], Set: env[p.Trust], Wanted: r.trust.Env(nil)[p.Trust],
		})
	}
	return all, nil
}

// environment returns the variables of a probe: those of a run, less the proxy
// and what --without names.
func (x *examination) environment(r *running, way doctor.Way) map[string]string {
	env := map[string]string{}
	for _, v := range x.plan.environment(r.trust, nil) {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	if way == doctor.Transparent {
		for name := range certs.ProxyEnv(&url.URL{}) {
			delete(env, name)
		}
		maps.Copy(env, r.trust.Env(nil))
	}
	for _, name := range x.without {
		delete(env, name)
	}
	env["PATH"] = doctorPath
	return env
}

// shell runs a script in an empty directory of its own and returns how it
// ended. An error means that the sandbox failed, not the script.
func (x *examination) shell(ctx context.Context, r *running, script string, env map[string]string) (doctor.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, x.timeout+execTime)
	defer cancel()
	var out bytes.Buffer
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	process, err := r.sandbox.Exec(ctx, runs.Exec{
		Argv: []string{"sh", "-c", "cd \"$(mktemp -d)\" && export HOME=$PWD && exec timeout -k 2 \"$0\" sh -c \"$1\"",
			fmt.Sprintf("%.3f", x.timeout.Seconds()), script},
		Env: list, Dir: "/tmp", User: x.plan.flags.user, Stdout: &out, Stderr: &out,
	})
	if err != nil {
		return doctor.Outcome{}, fmt.Errorf("run probe: %w", err)
	}
	exit, err := process.Wait(ctx)
	if err != nil {
		return doctor.Outcome{}, fmt.Errorf("run probe: %w", err)
	}
	return doctor.Outcome{Code: exit.Code, Output: out.String(), TimedOut: exit.Code == exitTimeout}, nil
}

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/certs/variables"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// runFlags are the flags of "sallyport run" as they were given.
type runFlags struct {
	access    accessFlags
	secrets   secretFlags
	upstream  upstreamFlags
	git       gitFlags
	env       []string
	image     string
	workspace string
	workdir   string
	user      string
	timeout   time.Duration
	cpus      float64
	memory    sizeFlag
	tty       bool
	audit     string
}

func (f *runFlags) register(cmd *cobra.Command) {
	f.access.register(cmd)
	f.secrets.register(cmd)
	f.upstream.register(cmd)
	f.git.register(cmd)
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringArrayVar(&f.env, "env", nil, "set the variable `K=V` for the command")
	flags.StringVar(&f.image, "image", "host", "root file system: host, a directory or a tar `FILE`")
	flags.StringVar(&f.workspace, "workspace", "", "mount `DIR` read-write at /workspace (default: empty, and discarded)")
	flags.StringVar(&f.workdir, "workdir", "", "run the command in `DIR` of the sandbox (default /workspace)")
	flags.StringVar(&f.user, "user", "user", "run the command as `NAME`: user or root, both of the sandbox")
	flags.DurationVar(&f.timeout, "timeout", 0, "end the command after `DURATION`; the exit code is then 124")
	flags.Float64Var(&f.cpus, "cpus", 0, "use at most `N` processors")
	flags.Var(&f.memory, "memory", "use at most `SIZE` of memory, such as 512M or 2G")
	flags.BoolVarP(&f.tty, "tty", "t", false, "give the command a terminal of its own")
	flags.StringVar(&f.audit, "audit", "", "append a line of JSON per crossing to `FILE`; - is standard error")
	_ = cmd.MarkFlagDirname("workspace")
	_ = cmd.RegisterFlagCompletionFunc("user", cobra.FixedCompletions([]cobra.Completion{"user", "root"}, cobra.ShellCompDirectiveNoFileComp))
}

// runPlan is what the flags mean, checked.
type runPlan struct {
	argv     []string
	policy   policy.Document
	secrets  *runSecrets
	upstream config.DocumentUpstream
	git      *runGit
	env      map[string]string
	audit    string               // a path, or "-"
	files    map[string]runs.File // of the sandbox, besides those of trust and git
	flags    *runFlags
}

// plan checks the flags and what they name. Its errors are of usage, except
// for a broken policy file.
func (f *runFlags) plan(cmd *cobra.Command, argv []string) (_ *runPlan, err error) {
	p := &runPlan{argv: argv, flags: f}
	switch {
	case f.user != "user" && f.user != "root":
		return nil, usageErrorf("--user: expected user or root, found %q", f.user)
	case f.timeout < 0:
		return nil, usageErrorf("--timeout: expected a positive duration")
	case f.cpus < 0:
		return nil, usageErrorf("--cpus: expected a positive number")
	}
	if p.secrets, err = f.secrets.parse(); err != nil {
		return nil, err
	}
	if p.env, err = f.variables(p.secrets); err != nil {
		return nil, err
	}
	if p.upstream, err = f.upstream.document(); err != nil {
		return nil, err
	}
	if p.git, err = f.git.parse(); err != nil {
		return nil, err
	}
	if err := f.absolute(); err != nil {
		return nil, err
	}
	if err = p.secrets.outside(f.workspace); err != nil {
		return nil, err
	}
	p.audit = f.audit
	if p.policy, err = f.access.document(cmd); err != nil {
		return nil, err
	}
	return p, nil
}

// absolute makes the paths among the flags absolute.
func (f *runFlags) absolute() (err error) {
	for _, path := range []*string{&f.workspace, &f.image, &f.audit} {
		if *path == "" || *path == "-" || path == &f.image && (*path == "host" || *path == "runner") {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	return nil
}

// variables reads --env. Names that make the sandbox work, and those that hold
// placeholders, are refused.
func (f *runFlags) variables(secrets *runSecrets) (map[string]string, error) {
	env := map[string]string{}
	for _, text := range f.env {
		name, value, found := strings.Cut(text, "=")
		_, placeholder := secrets.refs[name]
		switch {
		case !found || !variableName.MatchString(name):
			return nil, usageErrorf("--env: expected K=V with a name of letters, digits and _")
		case variables.Reserved(name):
			return nil, usageErrorf("--env %s: this variable is set by Sallyport", name)
		case placeholder:
			return nil, usageErrorf("--env %s: this variable holds the placeholder of --secret %s", name, name)
		case strings.ContainsRune(value, 0):
			return nil, usageErrorf("--env %s: the value has a NUL", name)
		}
		env[name] = value
	}
	return env, nil
}

// limits returns what the sandbox may use.
func (f *runFlags) limits() runs.Limits {
	return runs.Limits{CPUs: f.cpus, MemoryBytes: int64(f.memory)}
}

// sizeFlag is a number of bytes, written with a unit of 1024 (512M, 2GiB).
type sizeFlag int64

// String implements pflag.Value.
func (f *sizeFlag) String() string {
	if *f == 0 {
		return ""
	}
	return units.BytesSize(float64(*f))
}

// Type implements pflag.Value.
func (f *sizeFlag) Type() string { return "SIZE" }

// Set implements pflag.Value.
func (f *sizeFlag) Set(text string) error {
	n, err := units.RAMInBytes(text)
	if err != nil || n <= 0 {
		return fmt.Errorf("expected a size such as 512M or 2G")
	}
	*f = sizeFlag(n)
	return nil
}

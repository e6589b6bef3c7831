package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/env"
	"github.com/sallyport/sallyport/inject/file"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/vault"
	"github.com/sallyport/sallyport/policy"
)

// variableName is what a variable of a sandbox may be called.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secretFlags say which secrets go into which requests.
type secretFlags struct {
	bindings []string
	from     []string
	state    *stateFlag
}

func (f *secretFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.bindings, "secret", nil, "put the secret `NAME@HOST[:PORT][/HEADER]` into requests to that host;\nthe variable NAME holds a placeholder for it")
	flags.StringArrayVar(&f.from, "secret-from", nil, "take a secret's value from `NAME=SOURCE`: env:VAR, file:PATH, store:NAME\nor vault:MOUNT/PATH#FIELD of VAULT_ADDR, as VAULT_TOKEN (default env:NAME)")
	f.state = addStateFlag(cmd)
}

// runSecrets are the bindings of a command and where their values come from.
type runSecrets struct {
	bindings []inject.Binding
	refs     map[string]secret.Ref // by variable
	sources  map[string]secret.Source
	vault    *vault.Source // nil: none of refs is its
}

// parse checks the flags. It reads no value yet.
func (f *secretFlags) parse() (*runSecrets, error) {
	s := &runSecrets{refs: map[string]secret.Ref{}}
	for _, text := range f.bindings {
		name, destination, found := strings.Cut(text, "@")
		if !found {
			// Not quoted: it may be the secret itself.
			return nil, usageErrorf("--secret: expected NAME@HOST[:PORT][/HEADER], such as API_TOKEN@api.example.com")
		}
		b, err := parseBinding(name, destination)
		if err == nil {
			// One at a time, so that a mistake is told by its flag.
			_, err = inject.Compile("run", append(s.bindings, b), inject.Key{})
		}
		if err != nil {
			return nil, usageErrorf("--secret %s: %w", text, bare(err))
		}
		s.bindings = append(s.bindings, b)
		s.refs[b.Env] = secret.Ref{Source: "env", Name: b.Env}
	}
	for _, text := range f.from {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return nil, usageErrorf("--secret-from: expected NAME=SOURCE, such as API_TOKEN=file:token.txt")
		}
		if _, bound := s.refs[name]; !bound {
			return nil, usageErrorf("--secret-from %s: no --secret of that name", name)
		}
		ref, err := parseSource(value)
		if err != nil {
			return nil, usageErrorf("--secret-from %s: %w", name, err)
		}
		s.refs[name] = ref
	}
	secrets, err := openStore(f.state)
	if err != nil {
		return nil, err
	}
	s.sources = map[string]secret.Source{"env": env.Source{}, "file": file.Source{}, "store": secrets}
	for name, ref := range s.refs {
		if ref.Source != "vault" || s.vault != nil {
			continue
		}
		if s.vault, err = vaultFromEnvironment(); err != nil {
			return nil, usageErrorf("--secret-from %s: %w", name, err)
		}
		s.sources["vault"] = s.vault
	}
	return s, nil
}

// parseBinding reads HOST[:PORT][/HEADER]. The edge finds the value in its
// memory under the name of the variable.
func parseBinding(name, destination string) (inject.Binding, error) {
	authority, header, found := strings.Cut(destination, "/")
	if found && header == "" {
		return inject.Binding{}, errors.New("expected a header after the slash")
	}
	host, port, err := policy.CanonicalAuthority(authority, 443)
	if err != nil {
		return inject.Binding{}, err
	}
	return inject.Binding{Env: name, Host: host.String(), Port: port, Header: header, Secret: "memory:" + name}, nil
}

func parseSource(text string) (secret.Ref, error) {
	ref, err := secret.ParseRef(text)
	if err != nil {
		return secret.Ref{}, err
	}
	switch ref.Source {
	case "env", "store", "vault":
		return ref, nil
	case "file":
		ref.Name, err = filepath.Abs(ref.Name)
		return ref, err
	default:
		return secret.Ref{}, fmt.Errorf("expected env, file, store or vault, found %q", ref.Source)
	}
}

// bare takes the place in a list that no user wrote off an error.
func bare(err error) error {
	var e *inject.BindingError
	if errors.As(err, &e) {
		return errors.New(e.Msg)
	}
	return err
}

// values reads the value of each variable for a boundary, as the user who runs
// the command.
func (s *runSecrets) values(ctx context.Context, boundary string) (map[string]secret.Value, error) {
	ctx = secret.Within(ctx, &secret.Scope{Boundary: boundary})
	values := map[string]secret.Value{}
	for name, ref := range s.refs {
		got, err := s.sources[ref.Source].Read(ctx, ref.Name)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", name, err)
		}
		values[name] = got.Value
	}
	return values, nil
}

// outside refuses files that the sandbox could replace: it would choose which
// secret goes out, or have a file of the caller's read for it by a link.
func (s *runSecrets) outside(workspace string) error {
	if workspace == "" {
		return nil
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return err
	}
	for name, ref := range s.refs {
		if ref.Source != "file" {
			continue
		}
		for _, path := range []string{ref.Name, followed(ref.Name)} {
			if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
				return usageErrorf("--secret-from %s: the file is in --workspace, where the sandbox could replace it", name)
			}
		}
	}
	return nil
}

// followed is a path with its links followed as far as they lead somewhere.
func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

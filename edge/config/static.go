package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

// minToken is the shortest token in bytes that is accepted; `openssl rand -hex
// 16` writes 32.
const minToken = 16

// boundaries checks the static boundaries.
func (c checker) boundaries(ds []DocumentBoundary, issuers map[string]Issuer) ([]Static, error) {
	seen := map[string]bool{}
	all := make([]Static, 0, len(ds))
	for i, d := range ds {
		path := index("boundaries", i)
		spec, err := c.boundary(path, d)
		if err != nil {
			return nil, err
		}
		for j, g := range spec.Git {
			if _, known := issuers[g.Issuer]; !known {
				return nil, at(fmt.Sprintf("%s.git[%d].issuer", path, j), "no issuer is called %q", g.Issuer)
			}
		}
		if seen[spec.ID] {
			return nil, at(path+".id", "%s is used twice", spec.ID)
		}
		seen[spec.ID] = true
		all = append(all, Static{Spec: spec, TokenFile: c.path(d.TokenFile)})
	}
	return all, nil
}

func (c checker) boundary(path string, d DocumentBoundary) (boundary.Spec, error) {
	spec := boundary.Spec{ID: d.ID, Labels: d.Labels, Git: d.Git, Limits: d.Limits, Observe: d.Observe}
	var err error
	if len(d.NetworkPolicy) > 0 {
		if spec.NetworkPolicy, err = policy.Parse(d.NetworkPolicy); err != nil {
			return boundary.Spec{}, below(path, "network_policy", err)
		}
	}
	if len(d.Bindings) > 0 {
		if spec.Bindings, err = inject.ParseBindings(d.Bindings); err != nil {
			return boundary.Spec{}, below(path, "", err)
		}
		c.locate(spec.Bindings)
	}
	if d.TokenFile != "" {
		if spec.TokenSHA256, err = readToken(c.path(d.TokenFile)); err != nil {
			return boundary.Spec{}, at(path+".token_file", "%v", err)
		}
	}
	// The key doesn't matter: this is only to find every mistake now.
	if _, err := boundary.Compile(spec, inject.Key{}); err != nil {
		return boundary.Spec{}, below(path, "", err)
	}
	return spec, nil
}

// below puts what a package says about a value of its own below the value's
// place in this file: path and, unless it is empty, key.
func below(path, key string, err error) error {
	var (
		inPolicy   *policy.Error
		inBindings *inject.BindingError
		inSpec     *boundary.Error
		inner, msg = "", err.Error()
	)
	switch {
	case errors.As(err, &inPolicy):
		inner, msg = inPolicy.Path, inPolicy.Msg
	case errors.As(err, &inBindings):
		inner, msg = inBindings.Path, inBindings.Msg
	case errors.As(err, &inSpec):
		inner, msg = inSpec.Path, inSpec.Msg
	}
	for _, part := range []string{key, inner} {
		if part != "" {
			path += "." + part
		}
	}
	return at(path, "%s", msg)
}

// locate makes the relative paths of "file:" secrets absolute.
func (c checker) locate(bindings []inject.Binding) {
	for i, b := range bindings {
		if name, isFile := strings.CutPrefix(b.Secret, "file:"); isFile && name != "" {
			bindings[i].Secret = "file:" + c.path(name)
		}
	}
}

// readToken returns the digest of the token in file.
func readToken(file string) (string, error) {
	token, err := ReadToken(file)
	if err != nil {
		return "", err
	}
	return boundary.TokenDigest(token), nil
}

// ReadToken returns the token in file, without the line end that editors add.
// It refuses one that is short, or has anything but printable ASCII in it.
func ReadToken(file string) ([]byte, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	token := bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
	if len(token) < minToken {
		return nil, fmt.Errorf("expected at least %d bytes in %s", minToken, file)
	}
	for _, c := range token {
		if c <= ' ' || c > '~' {
			return nil, fmt.Errorf("expected printable ASCII without spaces in %s", file)
		}
	}
	return token, nil
}

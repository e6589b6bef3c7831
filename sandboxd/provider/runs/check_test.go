package runs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

func TestCheck(t *testing.T) {
	if err := newProvider(t).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStateDirIsRequired(t *testing.T) {
	t.Parallel()
	if _, err := runs.New(runs.Config{}); err == nil {
		t.Error("no error")
	}
}

func TestSpecIsChecked(t *testing.T) {
	p := newProvider(t)
	n, err := p.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	cases := []struct {
		name, want string
		spec       runs.Spec
	}{
		{"no id", "id", runs.Spec{Network: n}},
		{"a path as id", "id", runs.Spec{ID: "../x", Network: n}},
		{"no network", "network", runs.Spec{ID: "a"}},
		{"a relative file", "absolute", runs.Spec{ID: "a", Network: n, Files: map[string]runs.File{"etc/x": {}}}},
		{"no such image", "image", runs.Spec{ID: "a", Network: n, Image: "/no/such/image"}},
		{"no such workspace", "workspace", runs.Spec{ID: "a", Network: n, Workspace: "/no/such"}},
		{"everything as workspace", "workspace", runs.Spec{ID: "a", Network: n, Workspace: "/"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sb, err := p.Start(t.Context(), c.spec)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if sb != nil {
				t.Error("and a sandbox")
			}
		})
	}
	if _, err := p.Start(t.Context(), runs.Spec{ID: "a", Network: n, Workspace: "/no/such"}); err == nil || strings.Contains(err.Error(), "exists already") {
		t.Errorf("a start that failed left something: %v", err)
	}
}

// A program without its init says so.
func TestInitIsMissing(t *testing.T) {
	t.Parallel()
	p, err := runs.New(runs.Config{StateDir: t.TempDir(), Init: "/no/such/init"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(t.Context()); err == nil || errors.Is(err, runs.ErrNotBuilt) {
		t.Errorf("got %v", err)
	}
}

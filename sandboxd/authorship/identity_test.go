package authorship_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/authorship"
)

var (
	agent = authorship.Person{Name: "Agent", Email: "agent@example.com"}
	ada   = authorship.Person{Name: "Ada", Email: "ada@example.com"}
)

// Ledger: GB-28, GB-30.
func TestResolve(t *testing.T) {
	t.Parallel()
	directory := authorship.Directory{
		"u1": {Person: ada, Verified: true},
		"u2": {Person: ada},
		"u3": {Person: authorship.Person{Name: "Eve\nX: y", Email: "eve@example.com"}, Verified: true},
		"":   {Person: ada, Verified: true},
	}
	co := "Co-Authored-By: Agent <agent@example.com>"
	cases := []struct {
		name      string
		requester *authorship.Requester
		author    authorship.Person
		trailers  []string
	}{
		{"nobody", nil, agent, nil},
		{"verified", &authorship.Requester{ID: "u1", Source: authorship.SourcePlatform}, ada, []string{co}},
		{"not verified", &authorship.Requester{ID: "u2", Source: authorship.SourcePlatform}, agent, []string{"Requested-by: Ada"}},
		{"broken entry", &authorship.Requester{ID: "u3", Source: authorship.SourcePlatform}, agent, []string{"Requested-by: u3 (unverified)"}},
		{"unknown", &authorship.Requester{ID: "u9", Display: "Nina", Source: authorship.SourcePlatform}, agent, []string{"Requested-by: Nina (unverified)"}},
		{"no id", &authorship.Requester{Display: "Ada", Source: authorship.SourcePlatform}, agent, []string{"Requested-by: Ada (unverified)"}},
		{"told by an agent", &authorship.Requester{ID: "u1", Display: "Ada", Source: authorship.SourceAgent}, agent, []string{"Requested-by: Ada (unverified)"}},
		{"no source", &authorship.Requester{ID: "u1"}, agent, []string{"Requested-by: u1 (unverified)"}},
		{"other source", &authorship.Requester{ID: "u1", Source: "chat"}, agent, []string{"Requested-by: u1 (unverified)"}},
		{"address for a name", &authorship.Requester{Display: "Ada <ada@example.com>\nSigned-off-by: x", Source: authorship.SourceAgent},
			agent, []string{"Requested-by: Ada ada at example.com Signed-off-by: x (unverified)"}},
		{"nothing to show", &authorship.Requester{Display: "\x00\n", Source: authorship.SourceAgent}, agent, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id := authorship.Resolve(agent, c.requester, directory)
			if id.Author != c.author || id.Committer != agent || !slices.Equal(id.Trailers, c.trailers) {
				t.Errorf("got %+v", id)
			}
		})
	}
}

// Ledger: GB-31.
func TestCheckPerson(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, email string
		ok          bool
	}{
		{"Ada", "ada@example.com", true},
		{"Sammy Davis Jr.", "s.davis+work@example.com", true},
		{"\u0160\u00e1rka \u5f20", "x@example.com", true},
		{"", "ada@example.com", false},
		{"Ada", "", false},
		{"Ada\n", "ada@example.com", false},
		{"A\nB", "ada@example.com", false},
		{"A\rB", "ada@example.com", false},
		{"A\x1bB", "ada@example.com", false},
		{"A\u202eB", "ada@example.com", false},
		{"A\xffB", "ada@example.com", false},
		{"Ada <x", "ada@example.com", false},
		{"Ada>", "ada@example.com", false},
		{"...", "ada@example.com", false},
		{" Ada", "ada@example.com", false},
		{"Ada", "ada", false},
		{"Ada", "a@b@c", false},
		{"Ada", "a b@c", false},
		{"Ada", "ada@example.com>", false},
		{strings.Repeat("a", 201), "ada@example.com", false},
	}
	for _, c := range cases {
		t.Run(c.name+" "+c.email, func(t *testing.T) {
			t.Parallel()
			if err := (authorship.Person{Name: c.name, Email: c.email}).Check(); (err == nil) != c.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Whatever a requester is called, it is one line of a trailer and no address.
func FuzzResolve(f *testing.F) {
	f.Add("u1", "Ada", "agent")
	f.Add("x@y", "a\n\nb: c <d@e>", "platform")
	f.Add("", strings.Repeat("\u00e9", 300), "")
	f.Fuzz(func(t *testing.T, id, display, source string) {
		got := authorship.Resolve(agent, &authorship.Requester{ID: id, Display: display, Source: authorship.Source(source)},
			authorship.Directory{"u1": {Person: ada, Verified: true}})
		if got.Author != agent && (id != "u1" || source != "platform") {
			t.Fatalf("%q by %q became the author", id, source)
		}
		for _, trailer := range got.Trailers {
			if got.Author == agent && strings.ContainsAny(trailer, "\n\r\x00<>@\x1b") {
				t.Fatalf("trailer %q", trailer)
			}
		}
	})
}

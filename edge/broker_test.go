package edge_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/broker/gitcred"
	"github.com/sallyport/sallyport/edge/audit"
)

// desk serves the broker of a boundary on a socket and returns a client of it.
func (b *gitBed) desk(boundaryID string) gitcred.Client {
	b.Helper()
	socket := filepath.Join(b.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.edge.ServeBroker(ctx, ln, boundaryID) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("serve the broker: %v", err)
		}
	})
	return gitcred.Client{Socket: socket}
}

// Ledger: GB-5, GB-7, GB-13, GB-14: the socket says whose question it is.
func TestServeBroker(t *testing.T) {
	t.Parallel()
	b, env := newGitBed(t, edgeGrant("octo/held", broker.Write), broker.Grant{Repository: "octo/app", Access: broker.Write})
	box, nobody := b.desk(boxID), b.desk("nobody")
	cases := []struct {
		name       string
		client     gitcred.Client
		host, path string
		password   string
		code       string // of a refusal
		err        error
	}{
		{"a token to read, whatever the grant", box, gitHost, "octo/app.git", "minted-to-read-octo/app", "", nil},
		{"a placeholder", box, gitHost, "octo/held.git", env["GH_TOKEN"], "", nil},
		{"not granted", box, gitHost, "octo/secret.git", "", "repository_not_granted", nil},
		{"two spellings", box, gitHost, "octo/app/../secret.git", "", "repository_not_granted", nil},
		{"another host", box, "www.allowed.test", "octo/app.git", "", "", gitcred.ErrNotBrokered},
		{"no such sandbox", nobody, gitHost, "octo/app.git", "", "identity_required", nil},
	}
	for _, c := range cases {
		got, err := c.client.Get(t.Context(), c.host, c.path)
		var refused *gitcred.RefusedError
		errors.As(err, &refused)
		switch {
		case got.Password != c.password,
			c.err != nil && !errors.Is(err, c.err),
			c.code != "" && (refused == nil || refused.Code != c.code || refused.RequestID == ""),
			c.password != "" && err != nil:
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	records := b.recorded(len(cases))
	if first := records[0]; first.Mode != audit.ModeBroker || first.Git == nil || first.Git.Access != "read" || first.Git.TokenHash == "" || first.Verdict != audit.VerdictAllow {
		t.Errorf("record %+v, %+v", first, first.Git)
	}
	if held := records[1]; held.Git == nil || held.Git.TokenHash != "" {
		t.Errorf("a placeholder is recorded as a token: %+v", held.Git)
	}
	b.must(box.Erase(t.Context(), gitHost, "octo/app.git", "minted-to-read-octo/app"))
	b.table.Delete(boxID)
	if _, err := box.Get(t.Context(), gitHost, "octo/held.git"); err == nil {
		t.Error("the socket of a boundary that has closed still answers")
	}
}

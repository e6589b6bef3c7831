package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/audit"
)

// chain makes n linked entries.
func chain(t *testing.T, n int) []audit.Link {
	t.Helper()
	var links []audit.Link
	var head audit.Head
	for i := range n {
		link, err := audit.Seal(head, audit.Entry{
			At:             time.Date(2026, 1, 2, 3, 4, i, 0, time.FixedZone("", 3600)),
			OrganizationID: "org_1",
			Actor:          audit.Actor{UserID: "usr_1", KeyID: "key_1", Role: "admin"},
			Action:         "environment.update",
			Subject:        fmt.Sprint("env_", i),
			Changes:        []audit.Change{{Field: "privileged", Old: json.RawMessage("false"), New: json.RawMessage(`"<&>"`)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, link)
		head = link.Head()
	}
	return links
}

func all(links []audit.Link) iter.Seq2[audit.Link, error] {
	return func(yield func(audit.Link, error) bool) {
		for _, l := range links {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func TestWholeChain(t *testing.T) {
	t.Parallel()
	links := chain(t, 5)
	last := links[4].Head()
	head, err := audit.Verify(all(links), &last, links[2].Head(), audit.Head{})
	if err != nil || head != last {
		t.Errorf("verify: %+v, %v", head, err)
	}
	e, err := links[1].Entry()
	if err != nil || e.Subject != "env_1" || e.At.Location() != time.UTC {
		t.Errorf("entry: %+v, %v", e, err)
	}
	if head, err := audit.Verify(all(nil), &audit.Head{}); err != nil || head != (audit.Head{}) {
		t.Errorf("empty chain: %+v, %v", head, err)
	}
}

// Ledger: LO-9
func TestTamperingIsFound(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		do   func([]audit.Link) []audit.Link
		at   int64
	}{
		{"edit", func(l []audit.Link) []audit.Link {
			l[2].Body = bytes.Replace(l[2].Body, []byte("env_2"), []byte("env_9"), 1)
			return l
		}, 3},
		{"edit of the last", func(l []audit.Link) []audit.Link {
			l[4].Body = bytes.Replace(l[4].Body, []byte("usr_1"), []byte("usr_2"), 1)
			return l
		}, 5},
		{"edit and new seal", func(l []audit.Link) []audit.Link {
			e, _ := l[2].Entry()
			e.Subject = "env_9"
			l[2], _ = audit.Seal(l[1].Head(), e)
			return l
		}, 4},
		{"edit of the last and new seal", func(l []audit.Link) []audit.Link {
			e, _ := l[4].Entry()
			e.Subject = "env_9"
			l[4], _ = audit.Seal(l[3].Head(), e)
			return l
		}, 5},
		{"deletion", func(l []audit.Link) []audit.Link { return slices.Delete(l, 1, 2) }, 2},
		{"deletion of the first", func(l []audit.Link) []audit.Link { return l[1:] }, 1},
		{"truncation", func(l []audit.Link) []audit.Link { return l[:3] }, 4},
		{"all gone", func(_ []audit.Link) []audit.Link { return nil }, 1},
		{"reordering", func(l []audit.Link) []audit.Link { l[1], l[2] = l[2], l[1]; return l }, 2},
		{"renumbered reordering", func(l []audit.Link) []audit.Link {
			l[1], l[2] = l[2], l[1]
			l[1].Sequence, l[2].Sequence = 2, 3
			return l
		}, 2},
		{"duplicate", func(l []audit.Link) []audit.Link { return slices.Insert(l, 1, l[0]) }, 2},
		{"addition", func(l []audit.Link) []audit.Link {
			more, _ := audit.Seal(l[4].Head(), audit.Entry{Action: "environment.delete"})
			return append(l, more)
		}, 6},
		{"another chain", func(_ []audit.Link) []audit.Link {
			var other []audit.Link
			var head audit.Head
			for range 5 {
				link, _ := audit.Seal(head, audit.Entry{Action: "environment.delete"})
				other, head = append(other, link), link.Head()
			}
			return other
		}, 5},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			links := chain(t, 5)
			last := links[4].Head()
			_, err := audit.Verify(all(c.do(links)), &last)
			var tamper *audit.TamperError
			if !errors.As(err, &tamper) || tamper.Sequence != c.at {
				t.Errorf("verify: %v, want a break at %d", err, c.at)
			}
		})
	}
}

// Whoever can rewrite entries and head is found by a head that was kept
// elsewhere.
func TestKnownHeadFindsARewrittenChain(t *testing.T) {
	t.Parallel()
	kept := chain(t, 3)[2].Head()
	var head audit.Head
	var forged []audit.Link
	for range 4 {
		link, err := audit.Seal(head, audit.Entry{Action: "environment.create"})
		if err != nil {
			t.Fatal(err)
		}
		forged, head = append(forged, link), link.Head()
	}
	if _, err := audit.Verify(all(forged), &head); err != nil {
		t.Errorf("the forged chain by itself: %v", err)
	}
	var tamper *audit.TamperError
	if _, err := audit.Verify(all(forged), &head, kept); !errors.As(err, &tamper) {
		t.Errorf("the forged chain against a known head: %v", err)
	}
}

func TestExportReadsBack(t *testing.T) {
	t.Parallel()
	links := chain(t, 4)
	var file bytes.Buffer
	if err := audit.Export(&file, all(links)); err != nil {
		t.Fatal(err)
	}
	last := links[3].Head()
	if _, err := audit.Verify(audit.Read(bytes.NewReader(file.Bytes())), &last); err != nil {
		t.Errorf("verify the export: %v", err)
	}
	for _, broken := range []string{"{", `{"sequence":1,"x":2}`, `{"sequence":1}{}`, `{"digest":"00"}`, strings.Repeat("x", 9<<20)} {
		if _, err := audit.Verify(audit.Read(strings.NewReader(broken)), nil); err == nil {
			t.Errorf("verified %.20q", broken)
		}
	}
	// The zero digests of a made-up line don't seal it.
	var tamper *audit.TamperError
	if _, err := audit.Verify(audit.Read(strings.NewReader(`{"sequence":1,"entry":{}}`)), nil); !errors.As(err, &tamper) {
		t.Errorf("verify an unsealed line: %v", err)
	}
}

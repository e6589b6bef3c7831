package gitwire_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/gitwire"
)

var (
	zero = strings.Repeat("0", 40)
	one  = strings.Repeat("1", 40)
	two  = strings.Repeat("2", 40)
)

// pkt frames lines; "" is a flush.
func pkt(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		if line == "" {
			b.WriteString("0000")
			continue
		}
		fmt.Fprintf(&b, "%04x%s", len(line)+4, line)
	}
	return b.String()
}

func TestReadPush(t *testing.T) {
	t.Parallel()
	const capabilities = "\x00 report-status-v2 side-band-64k object-format=sha1 agent=git/2.39.5"
	cases := []struct {
		name, in string
		refs     []string
		options  []string
	}{
		{"nothing: the question before a large push", pkt(""), nil, nil},
		{"one", pkt(zero+" "+one+" refs/heads/a"+capabilities, "") + "PACK", []string{"refs/heads/a"}, nil},
		{"line ends", pkt(zero+" "+one+" refs/heads/a"+capabilities+"\n", one+" "+zero+" refs/heads/b\n", ""), []string{"refs/heads/a", "refs/heads/b"}, nil},
		{"no capabilities", pkt(zero+" "+one+" refs/heads/a\n", "") + "PACK", []string{"refs/heads/a"}, nil},
		{"shallow", pkt("shallow "+two, zero+" "+one+" refs/heads/a"+capabilities, "") + "PACK", []string{"refs/heads/a"}, nil},
		{"options", pkt(zero+" "+one+" refs/heads/a\x00report-status push-options", "", "ci.skip", "x=1\n", "") + "PACK", []string{"refs/heads/a"}, []string{"ci.skip", "x=1"}},
		{"sha256", pkt(strings.Repeat("0", 64)+" "+strings.Repeat("a", 64)+" refs/tags/v1\x00report-status object-format=sha256", ""), []string{"refs/tags/v1"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := strings.NewReader(c.in)
			got, err := gitwire.ReadPush(in)
			if err != nil {
				t.Fatal(err)
			}
			var refs []string
			for _, command := range got.Commands {
				refs = append(refs, command.Ref)
			}
			rest, _ := io.ReadAll(in)
			if !slices.Equal(refs, c.refs) || !slices.Equal(got.Options, c.options) || string(got.Head)+string(rest) != c.in {
				t.Errorf("got %q, options %q, head %q and %q after it", refs, got.Options, got.Head, rest)
			}
		})
	}
}

func TestReadPushRefuses(t *testing.T) {
	t.Parallel()
	command := zero + " " + one + " refs/heads/a"
	cases := map[string]string{
		"empty":                       "",
		"cut off in a length":         "00",
		"cut off in a line":           "00ff" + command,
		"no flush":                    pkt(command),
		"delimiter":                   "0001" + pkt(command, ""),
		"end of a response":           pkt(command) + "0002",
		"length of three":             "0003",
		"length that isn't hex":       "00zz",
		"sign in a length":            "+0a4",
		"too long a line":             "fff5" + strings.Repeat("a", 0xfff1),
		"certificate":                 pkt("push-cert\x00report-status\n", "certificate version 0.1\n", "push-cert-end\n", ""),
		"one id":                      pkt(one+" refs/heads/a", ""),
		"upper case":                  pkt(zero+" "+strings.Repeat("A", 40)+" refs/heads/a", ""),
		"ids of two lengths":          pkt(zero+" "+strings.Repeat("1", 64)+" refs/heads/a", ""),
		"commands of two lengths":     pkt(command, strings.Repeat("0", 64)+" "+strings.Repeat("1", 64)+" refs/heads/b", ""),
		"sha256 ids, no such format":  pkt(strings.Repeat("0", 64)+" "+strings.Repeat("1", 64)+" refs/heads/b", ""),
		"sha1 ids in a sha256 push":   pkt(command+"\x00object-format=sha256", ""),
		"unknown format":              pkt(command+"\x00object-format=md5", ""),
		"capabilities later":          pkt(command, zero+" "+one+" refs/heads/b\x00side-band-64k", ""),
		"two NULs":                    pkt(command+"\x00a\x00b", ""),
		"ref before its NUL":          pkt(command+"\n\x00report-status", ""),
		"one ref twice":               pkt(command, zero+" "+two+" refs/heads/a", ""),
		"no ref":                      pkt(zero+" "+one+" ", ""),
		"shallow after a command":     pkt(command, "shallow "+one, ""),
		"options without an end":      pkt(command+"\x00push-options", "", "x"),
		"a ref that isn't below refs": pkt(zero+" "+one+" HEAD", ""),
	}
	for _, ref := range []string{"refs/heads/..", "refs/heads/a..b", "refs/heads/.a", "refs/heads/a.lock", "refs//a", "refs/heads/a/", "refs/heads/a b",
		"refs/heads/a\x7f", "refs/heads/a~1", "refs/heads/a^", "refs/heads/a:b", "refs/heads/a?", "refs/heads/a*", "refs/heads/[a", `refs/heads/a\b`,
		"refs/heads/a@{1}", "refs/heads/a.", "refs/heads/\xff"} {
		cases["ref "+ref] = pkt(zero+" "+one+" "+ref, "")
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := gitwire.ReadPush(strings.NewReader(in)); err == nil {
				t.Errorf("accepted as %+v", got)
			}
		})
	}
}

// What is read of a push is said by its bytes alone, ends where they say, and
// holds nothing that git wouldn't make a ref of.
func FuzzReadPush(f *testing.F) {
	f.Add([]byte(pkt("")))
	f.Add([]byte(pkt(zero+" "+one+" refs/heads/a\x00 report-status-v2 side-band-64k push-options", one+" "+zero+" refs/heads/b", "", "o=1", "") + "PACK"))
	f.Add([]byte(pkt("shallow "+two, one+" "+two+" refs/tags/v1\n", "")))
	f.Add([]byte(pkt("push-cert\x00report-status\n", "")))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		got, err := gitwire.ReadPush(r)
		if err != nil {
			if got != nil {
				t.Fatal("a push beside an error")
			}
			return
		}
		if !bytes.Equal(got.Head, in[:len(in)-r.Len()]) {
			t.Fatalf("the head %q isn't what was read", got.Head)
		}
		again, err := gitwire.ReadPush(bytes.NewReader(got.Head))
		if err != nil || !slices.Equal(again.Commands, got.Commands) || !slices.Equal(again.Options, got.Options) {
			t.Fatalf("its head by itself reads as %+v, %v", again, err)
		}
		for _, c := range got.Commands {
			if !gitwire.ValidRef(c.Ref) || strings.ContainsAny(c.Ref, "\x00\n ") || len(c.Old) != len(c.New) || !bytes.Contains(got.Head, []byte(c.Old+" "+c.New+" "+c.Ref)) {
				t.Fatalf("command %+v", c)
			}
		}
		if report := got.Report("no", nil); report != nil && !bytes.HasSuffix(report, []byte("0000")) {
			t.Fatalf("report %q", report)
		}
	})
}

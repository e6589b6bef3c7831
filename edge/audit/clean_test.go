package audit_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/inject"
)

func TestPath(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"plain", "/a/b", "/a/b"},
		{"query", "/a?token=x", "/a"},
		{"fragment", "/a#x?y", "/a"},
		{"only a query", "?token=x", ""},
		{"control", "/a\r\n\x1b[2Jb\x7f\u0085", "/a???[2Jb??"},
		{"bidi override", "/a\u202eb", "/a?b"},
		{"not utf-8", "/a\xff", "/a?"},
		{"printable unicode", "/é", "/é"},
		{"encoded stays encoded", "/a%3Fb", "/a%3Fb"},
		{"long", "/" + strings.Repeat("a", 5000), "/" + strings.Repeat("a", 1020) + "…"},
	}
	for _, c := range cases {
		if got := audit.Path(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// lineOf writes one record and returns what came out.
func lineOf(t *testing.T, r audit.Record) []byte {
	t.Helper()
	d := &disk{}
	l := audit.New(d)
	l.Record(r)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return d.got.Bytes()
}

// A secret's reference is up to 4 KiB of whatever a source takes for a name.
func TestInjectedIsHarmlessAndBounded(t *testing.T) {
	t.Parallel()
	in := inject.Injected{Env: "A", Secret: "file:/a\u202e" + strings.Repeat("b", 5000), Header: "X-A", Version: "\u00851"}
	r := audit.Record{Injected: slices.Repeat([]inject.Injected{in}, 1000)}
	line := lineOf(t, r)
	if len(line) > 64<<10 || bytes.ContainsAny(line, "\u202e\u0085") {
		t.Errorf("%d bytes: %.200q", len(line), line)
	}
	if r.Injected[0] != in {
		t.Error("the caller's record has changed")
	}
	line = lineOf(t, audit.Record{Injected: []inject.Injected{{Env: "A", Secret: "store:a", Header: "X-A", Version: "7"}}})
	if !bytes.Contains(line, []byte(`"injected":[{"env":"A","secret":"store:a","header":"X-A","version":"7"}]`)) {
		t.Errorf("got %s", line)
	}
}

// FuzzRecord holds that a record is one bounded line of printable text which
// doesn't contain the query, whatever the fields hold.
func FuzzRecord(f *testing.F) {
	f.Add("evil.test\n{\"verdict\":\"allow\"}", "/a?canary=1", "\x1b[31m")
	f.Add("\xff\u2028\u202e", "?canary", strings.Repeat("\x00", 9000))
	f.Fuzz(func(t *testing.T, host, path, detail string) {
		line := lineOf(t, audit.Record{Host: host, Path: path, Detail: detail, Method: host, Labels: map[string]string{host: detail}})
		if n := bytes.Count(line, []byte("\n")); n != 1 || len(line) > 16<<10 {
			t.Fatalf("%d lines, %d bytes", n, len(line))
		}
		for _, c := range string(line[:len(line)-1]) {
			if !unicode.IsPrint(c) || c == utf8.RuneError {
				t.Fatalf("character %U in %q", c, line)
			}
		}
		var r audit.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if strings.ContainsAny(r.Path, "?#") && !strings.ContainsFunc(path, func(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }) {
			t.Fatalf("path %q of %q", r.Path, path)
		}
	})
}

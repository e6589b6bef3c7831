package script_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport/sallyport/sandboxd/environment/script"
)

// Ledger: SV-2
func TestNormalise(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		" \t\r\n\n":                     "",
		"echo a":                        "echo a\n",
		"echo a\n\n \t\n":               "echo a\n",
		"echo a\r\necho b\r\n":          "echo a\necho b\n",
		"echo a\recho b":                "echo a\necho b\n",
		"cat <<E\nkept  \n\nE\n":        "cat <<E\nkept  \n\nE\n",
		"\n\n# leading lines stay\n":    "\n\n# leading lines stay\n",
		"echo 'a\r\n\r\nb'\r\n\v\f \r ": "echo 'a\n\nb'\n",
	} {
		got := script.Normalise(text)
		if got != want {
			t.Errorf("Normalise(%q) = %q, want %q", text, got, want)
		}
		if again := script.Normalise(got); again != got {
			t.Errorf("Normalise(%q) = %q the second time", text, again)
		}
	}
}

const attributed = `set -u
npm install \
  a@1.0.0 \
  b@1.0.0
cat > x <<'EOF'
first
EOF
build() {
  make all
  make test
}
if [ -f x ]; then build; fi

echo "two
lines" && false
`

// Ledger: SV-18
// Ledger: SV-30
func TestTextAndCommandOfLine(t *testing.T) {
	t.Parallel()
	s := script.Read(attributed)
	install := "npm install \\\n  a@1.0.0 \\\n  b@1.0.0"
	cases := []struct {
		line     int
		text     string
		begins   int
		ends     int
		function string
	}{
		{1, "set -u", 1, 1, ""},
		{2, install, 2, 4, ""},
		{3, install, 2, 4, ""},
		{4, install, 2, 4, ""},
		{5, "cat > x <<'EOF'", 5, 7, ""},
		{6, "cat > x <<'EOF'", 5, 7, ""},
		{8, "build() {", 0, 0, ""},
		{9, "make all", 9, 9, "build"},
		{10, "make test", 10, 10, "build"},
		{12, "if [ -f x ]; then build; fi", 12, 12, ""},
		{13, "", 0, 0, ""},
		{14, "echo \"two\nlines\" && false", 14, 15, ""},
		{15, "lines\" && false", 15, 15, ""},
		{0, "", 0, 0, ""}, {99, "", 0, 0, ""}, {-1, "", 0, 0, ""},
	}
	for _, c := range cases {
		if got := s.Text(c.line); got != c.text {
			t.Errorf("line %d is %q, want %q", c.line, got, c.text)
		}
		got, ok := s.At(c.line)
		if ok != (c.begins > 0) || got.Line != c.begins || got.End != c.ends || got.Function != c.function {
			t.Errorf("line %d belongs to %+v, %v", c.line, got, ok)
		}
	}
}

// Scripts of the worst kinds are read to an end: where reading took time in the
// square of their size, this took minutes.
func TestHostileScriptsAreRead(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		"(", "$(", "{ ", "<(", "$((", "${a:-", "a;(", "((", "a=(", "[[ (", "f() {", "case a in (", // brackets
		"sh|", "curl|", "a;", "bash -c x;", "a&&", "<<A\n", "pip install a;", "'", "\"", "\\", "# ", "é",
	} {
		s := script.Read(strings.Repeat(part, script.MaxSize/len(part)))
		s.Warnings()
		s.Text(1)
	}
	for _, part := range []string{"if ", "while ", "! ", "`", "f() ", "bash -c \"", "a|while ", "for a do ", "eval '"} {
		s := script.Read(strings.Repeat(part, 8<<10/len(part)))
		s.Warnings()
		s.Text(1)
	}
}

// Ledger: SV-44
func TestMessagesAreShort(t *testing.T) {
	t.Parallel()
	for _, w := range script.Read("npm install " + strings.Repeat("é", 20000) + "\n").Warnings() {
		if len(w.Message) > 300 || !utf8.ValidString(w.Message) {
			t.Errorf("%s: %d bytes", w.Code, len(w.Message))
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range corpus {
		for _, x := range c.fires {
			f.Add(x.text)
		}
		for _, x := range c.quiet {
			f.Add(x)
		}
	}
	f.Add(attributed)
	f.Add("((a\n$'\\x00'\r\n\x00<<E")
	f.Fuzz(func(t *testing.T, text string) {
		normal := script.Normalise(text)
		if script.Normalise(normal) != normal || strings.ContainsRune(normal, '\r') || normal != "" && !strings.HasSuffix(normal, "\n") {
			t.Errorf("normal form %q", normal)
		}
		lines := strings.Count(normal, "\n") + 1
		s := script.Read(normal)
		for _, w := range s.Warnings() {
			if w.Line < 1 || w.Line > lines || w.Code == "" || w.Message == "" {
				t.Errorf("warning %+v in %d lines", w, lines)
			}
		}
		for _, c := range s.Commands() {
			if c.Line < 1 || c.End < c.Line || c.End > lines {
				t.Errorf("command %+v in %d lines", c, lines)
			}
		}
		for n := range lines + 2 {
			if line := s.Text(n); line != "" && !strings.Contains(normal, line) {
				t.Errorf("line %d is %q, which isn't in the script", n, line)
			}
		}
	})
}

package trace_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/setup/trace"
)

// sink writes what it is told in lines: "1 out: text".
type sink struct {
	text bytes.Buffer
	last string
}

func (s *sink) Text(stream trace.Stream, line int, text []byte) {
	for part := range bytes.Lines(text) {
		s.begin(fmt.Sprintf("%d %s: ", line, [...]string{"out", "err"}[stream]))
		s.text.Write(part)
	}
}

func (s *sink) Marker(line int) {
	s.begin("")
	s.last = ""
	fmt.Fprintf(&s.text, "@%d\n", line)
}

func (s *sink) begin(who string) {
	b := s.text.Bytes()
	if len(b) > 0 && b[len(b)-1] != '\n' && s.last != who {
		s.text.WriteString("⏎\n")
	}
	if len(b) == 0 || b[len(b)-1] == '\n' || s.last != who {
		s.text.WriteString(who)
	}
	s.last = who
}

type outcome struct {
	log    string
	failed int
	code   int
}

// run runs a script in Bash, traced or as it is, with files beside it.
func run(t *testing.T, script string, traced bool) outcome {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "setup.sh")
	write(t, path, script)
	write(t, filepath.Join(dir, "lib.sh"), "echo in lib\nlib() {\n  false\n}\n")
	write(t, filepath.Join(dir, "bad.sh"), "echo bad\nfalse\n")
	tr := trace.New()
	s := &sink{}
	tracker := trace.NewTracker(trace.NewMap(script), s)
	out, err := tracker.Writer(tr, trace.Stdout), tracker.Writer(tr, trace.Stderr)
	cmd := exec.Command("bash", "--login", path)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if traced {
		prelude := filepath.Join(dir, "prelude")
		write(t, prelude, string(tr.Prelude(path, "")))
		cmd.Env = append(cmd.Env, "BASH_ENV="+prelude)
	} else {
		cmd.Args = []string{"bash", "--login", "-eo", "pipefail", path}
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, err
	_ = cmd.Run()
	tracker.Finish(out, err)
	return outcome{s.text.String(), tracker.Failed(), cmd.ProcessState.ExitCode()}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Ledger: SV-18
func TestFailedLine(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, script string
		line, code   int
	}{
		{"simple", "echo a\nfalse\necho b\n", 2, 1},
		{"last", "echo a\n\n# comment\nfalse\n", 4, 1},
		{"not found", "echo a\nno-such-command --x\n", 2, 127},
		{"exit", "echo a\nif true; then\n  exit 7\nfi\n", 3, 7},
		{"guard", "echo a\nfalse || exit 5\n", 2, 5},
		{"several lines", "echo a\nls \\\n  --color \\\n  /nonexistent\necho b\n", 2, 2},
		{"function", "f() {\n  echo in\n  false\n  echo out\n}\necho a\nf\necho b\n", 3, 1},
		{"function that returns", "f() {\n  return 4\n}\nf\n", 2, 4},
		{"nested functions", "f() {\n  g\n}\ng() {\n  false\n}\nf\n", 5, 1},
		{"heredoc", "echo a\ncat <<END >/nonexistent/x\none\ntwo\nEND\necho b\n", 2, 1},
		{"heredoc to a command", "echo a\npython3 - <<END\nimport sys\nsys.exit(3)\nEND\necho b\n", 2, 3},
		{"pipe", "echo a\nfalse | cat\necho b\n", 2, 1},
		{"pipe of lines", "echo a\nfalse |\n  cat\necho b\n", 3, 1},
		{"subshell", "echo a\n(\n  cd /\n  false\n)\necho b\n", 4, 1},
		{"substitution", "echo a\nx=$(\n  echo b\n  false\n)\necho c\n", 4, 1},
		{"after a substitution", "f() {\n  true\n}\nx=$(f); false\n", 4, 1},
		{"loop", "for i in 1 2 3; do\n  echo $i\n  test $i != 2\ndone\n", 3, 1},
		{"conditions pass", "if false; then\n  :\nfi\nfalse || true\n! true\nwhile false; do :; done\nfalse\n", 7, 1},
		{"sourced file", "echo a\n. ./bad.sh\necho b\n", 0, 1},
		{"function of a sourced file", ". ./lib.sh\nlib\n", 0, 1},
		{"exec", "echo a\nexec sh -c 'exit 9'\n", 2, 9},
		{"exec of descriptors", "exec >log 2>&1\necho a\nfalse\n", 3, 1},
		{"exit trap", "cleanup() {\n  echo cleaning\n  true\n}\ntrap cleanup EXIT\necho a\nfalse\n", 7, 1},
		{"exit trap in place", "trap 'rm -f x; echo done' EXIT\necho a\nfalse\n", 3, 1},
		{"error trap", "handler() {\n  echo failed\n}\ntrap handler ERR\necho a\nfalse\n", 6, 1},
		{"background", "(\n  sleep 0.3\n  echo late\n) &\nsleep 0.6\nfalse\n", 6, 1},
		{"killed", "echo a\nkill -9 $$\n", 2, -1},
		{"unset variable", "set -u\necho a\necho $nope\n", 3, 1},
		{"set in one line", "echo a; false; echo b\n", 1, 1},
		{"case", "case a in\n  a)\n    false\n    ;;\nesac\n", 3, 1},
		{"arithmetic", "echo a\n(( 1 -\n   1 ))\n", 2, 1},
		{"test", "echo a\n[[ a == b ||\n   c == d ]]\n", 2, 1},
		{"assignment of lines", "x='a\nb\nc'\nfalse\n", 4, 1},
		{"eval", "echo a\neval 'true\nfalse'\n", 2, 1},
		{"syntax error", "echo a\nif true; then\n", 1, 2},
		{"passes", "echo a\n", 1, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, c.script, true)
			if got.failed != c.line || got.code != c.code {
				t.Errorf("line %d, code %d; want %d, %d\n%s", got.failed, got.code, c.line, c.code, got.log)
			}
		})
	}
}

// Ledger: SV-30
func TestOrder(t *testing.T) {
	t.Parallel()
	script := `echo one
echo two >&2
printf 'no newline'
f() {
  echo in f
  echo err in f >&2
}
f
for i in 1 2; do
  echo $i
done
cat <<END
heredoc
END
. ./lib.sh
x=$(
  echo captured
)
echo "$x" |
  tr a-z A-Z
exec >&2
echo moved
`
	want := `@1
1 out: one
@2
2 err: two
@3
3 out: no newline⏎
@8
@5
5 out: in f
@6
6 err: err in f
@9
@10
10 out: 1
@9
@10
10 out: 2
@12
12 out: heredoc
@15
15 out: in lib
@16
@17
@19
@20
20 out: CAPTURED
@21
@22
22 err: moved
`
	for i := range 5 {
		if got := run(t, script, true); got.log != want || got.code != 0 {
			t.Fatalf("round %d: code %d\n%s", i, got.code, got.log)
		}
	}
}

// A script that looks around sees what it sees without the trace.
func TestScriptIsUndisturbed(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"false || echo \"code $?\"; true; echo \"code $?\"",
		"true one two\necho \"last $_\"\necho three >/dev/null\necho \"$_\"\n",
		"true | false | true || echo \"${PIPESTATUS[*]}\"",
		"set -u\necho \"${x-unset}\"\n! echo $y",
		"echo $0 | sed s,.*/,,; echo ${#FUNCNAME[@]} ${#BASH_SOURCE[@]}",
		"f() { echo \"${FUNCNAME[*]}\" \"${#BASH_LINENO[@]}\" $LINENO; }\nf\n",
		"echo $LINENO\n\necho $LINENO\n",
		"trap 'echo exit $?' EXIT\nfalse\n",
		"trap 'echo error $?' ERR\nf() { false; }\nf\n",
		"f() { trap 'echo returned' RETURN; true; }\nf\ntrue\n",
		"trap 'echo got' USR1\nkill -USR1 $$\necho on\n",
		"shopt -s extdebug\necho on\nshopt -u extdebug\necho ok\n",
		"x=1\n(x=2; echo $x)\necho $x $BASH_SUBSHELL\n",
		"read a b <<<'1 2'\necho $b $a\n",
		"mapfile -t l < <(printf 'a\\nb\\n')\necho ${#l[@]}\n",
		"printf -v v %03d 7\necho $v\n",
		"set -- a b c\nshift\necho $# $1\n",
		"coproc cat\necho hi >&${COPROC[1]}\nread x <&${COPROC[0]}\necho $x\nkill $COPROC_PID\n",
		"alias ll=ls\nshopt -s expand_aliases\necho ok\n",
		"declare -A m=([a]=1 [b]=2)\nfor k in a b; do echo $k ${m[$k]}; done\n",
		"exec 3>&1\necho three >&3\nexec 3>&-\n",
		"bash -c 'echo child ${BASH_ENV-none}'",
		"sleep 0.05 & wait $!; echo $?",
		"set +e\nfalse\necho on\n",
		"select x in a b; do echo $x; break; done <<<1",
		"set -x\necho x 2>/dev/null\nset +x\n",
		"echo 'a\x1eb\x1fc'",
		"exit 300",
		"getopts ab x -a; echo $x\nlet 'y = 1 + 2'; echo $y\n",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			plain, traced := run(t, script, false), run(t, script, true)
			if got, want := bare(traced.log), bare(plain.log); got != want || traced.code != plain.code {
				t.Errorf("%s\ntraced, code %d:\n%s\nplain, code %d:\n%s", script, traced.code, got, plain.code, want)
			}
		})
	}
}

// bare returns what was written, without lines and markers, and without the
// name of the script's directory.
func bare(log string) string {
	var out, err strings.Builder
	for line := range strings.Lines(log) {
		if _, text, ok := strings.Cut(line, " out: "); ok {
			out.WriteString(strings.TrimSuffix(text, "⏎\n"))
		} else if _, text, ok := strings.Cut(line, " err: "); ok {
			if i := strings.Index(text, "setup.sh"); i >= 0 {
				text = text[i:]
			}
			err.WriteString(strings.TrimSuffix(text, "⏎\n"))
		}
	}
	return out.String() + "--\n" + err.String()
}

func TestOwnDebugTrap(t *testing.T) {
	t.Parallel()
	got := run(t, "echo a\ntrap 'echo debug' DEBUG\necho b\nfalse\n", true)
	if got.code != 1 || !strings.Contains(got.log, "debug") {
		t.Errorf("code %d\n%s", got.code, got.log)
	}
}

func TestBashEnvOfTheScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "own"), "own=set\n")
	write(t, filepath.Join(dir, "setup.sh"), "echo $own ${BASH_ENV##*/}\nbash -c 'echo $own'\n")
	script := filepath.Join(dir, "setup.sh")
	write(t, filepath.Join(dir, "prelude"), string(trace.New().Prelude(script, filepath.Join(dir, "own"))))
	cmd := exec.Command("bash", "--login", script)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "BASH_ENV=" + filepath.Join(dir, "prelude")}
	out, err := cmd.Output()
	text := string(out)
	for {
		before, rest, ok := strings.Cut(text, "\x1e")
		if !ok {
			break
		}
		_, after, _ := strings.Cut(rest, "\x1e")
		text = before + after
	}
	if err != nil || text != "set own\nset\n" {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestLoopsDontFloodTheLog(t *testing.T) {
	t.Parallel()
	got := run(t, "for i in {1..1000}; do\n  x=$i\n  y=$i\ndone\necho $x\n", true)
	if n := strings.Count(got.log, "@"); n > 400 || !strings.HasSuffix(got.log, "@5\n5 out: 1000\n") {
		t.Errorf("%d markers\n%s", n, got.log[max(0, len(got.log)-200):])
	}
}

// A script of more commands than are traced goes on, untraced.
func TestLongLoops(t *testing.T) {
	t.Parallel()
	got := run(t, "for i in {1..20000}; do\n  x=$i\ndone\necho $x\nfalse\n", true)
	if got.code != 1 || got.failed != 0 || !strings.HasSuffix(got.log, "0 out: 20000\n") {
		t.Errorf("line %d, code %d\n%s", got.failed, got.code, got.log[max(0, len(got.log)-200):])
	}
}

// A stream with marks of its own doesn't hold the other one back for ever.
func TestForgedMarks(t *testing.T) {
	t.Parallel()
	got := run(t, `t=$(declare -f _sallyport_mark)
n=${t#*\\036}; n=${n%%\\037*}
for i in {1..30000}; do printf "\036$n\0371\0371\0371\03777\037\037\036"; done
echo end
false
`, true)
	if !strings.Contains(got.log, "end") || got.code != 1 {
		t.Errorf("code %d\n%s", got.code, got.log[max(0, len(got.log)-300):])
	}
}

func TestMarksInPieces(t *testing.T) {
	t.Parallel()
	tr := trace.New()
	prelude := string(tr.Prelude("x", ""))
	_, nonce, _ := strings.Cut(prelude, `'\036`)
	nonce, _, _ = strings.Cut(nonce, `\037`)
	mark := "\x1e" + nonce + "\x1f3\x1f1\x1f3\x1f42\x1f\x1fword\x1e"
	stream := "a" + mark + "b\x1e" + nonce + "\x1fnot a mark\x1ec" + mark + mark + "\x1e"
	for size := 1; size <= len(stream); size++ {
		s := tr.Splitter()
		var text strings.Builder
		marks := 0
		add := func(b []byte) { text.Write(b) }
		for at := 0; at < len(stream); at += size {
			s.Split([]byte(stream[at:min(at+size, len(stream))]), add, func(m trace.Mark) {
				marks++
				if m != (trace.Mark{Line: 3, Script: true, Root: 3, PID: 42, Word: "word"}) {
					t.Errorf("got %+v", m)
				}
			})
		}
		s.Close(add)
		if want := "ab\x1e" + nonce + "\x1fnot a mark\x1ec\x1e"; text.String() != want || marks != 3 {
			t.Fatalf("pieces of %d: %q, %d marks", size, text.String(), marks)
		}
	}
}

func BenchmarkTraced(b *testing.B) {
	for _, traced := range []bool{false, true} {
		b.Run(fmt.Sprintf("traced=%v", traced), func(b *testing.B) {
			dir := b.TempDir()
			path := filepath.Join(dir, "setup.sh")
			_ = os.WriteFile(path, []byte("for i in {1..10000}; do\n  x=$i\n  y=$i\ndone\n"), 0o600)
			_ = os.WriteFile(filepath.Join(dir, "prelude"), trace.New().Prelude(path, ""), 0o600)
			for b.Loop() {
				cmd := exec.Command("bash", path)
				if traced {
					cmd.Env = append(os.Environ(), "BASH_ENV="+filepath.Join(dir, "prelude"))
				}
				_ = cmd.Run()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/20000, "µs/command")
		})
	}
}

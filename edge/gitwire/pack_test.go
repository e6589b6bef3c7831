package gitwire_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/gitwire"
)

// repository is one of git's own, with a line of commits.
type repository struct {
	testing.TB
	dir string
}

func newRepository(t testing.TB, format string, commits int) *repository {
	r := &repository{t, t.TempDir()}
	r.git("", "init", "-q", "-b", "main", "--object-format="+format)
	// Long messages with little difference make deltas of commits.
	var stream strings.Builder
	for i := range commits {
		message := strings.Repeat(fmt.Sprintf("line %d of a long message\n", i%2), 40) + fmt.Sprint(i)
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter T <t@example.com> %d +0000\ndata %d\n%s\n", 1_000_000_000+i, len(message), message)
	}
	r.git(stream.String(), "fast-import", "--quiet")
	return r
}

func (r *repository) git(stdin string, args ...string) []byte {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("git %v: %v", args, err)
	}
	return out
}

func (r *repository) id(rev string) string {
	r.Helper()
	return strings.TrimSpace(string(r.git("", "rev-parse", rev)))
}

// pack makes what a push of revs would send.
func (r *repository) pack(revs ...string) []byte {
	r.Helper()
	return r.git(strings.Join(revs, "\n")+"\n", "pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q")
}

func TestPackProvesFastForward(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, format, 30)
			r.git("", "checkout", "-q", "-b", "other", "main~20")
			r.git("", "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "elsewhere")
			old := r.id("main~10")
			cases := []struct {
				name string
				pack []byte
				to   string
				want bool
			}{
				{"ten commits on top", r.pack("main", "^"+old), r.id("main"), true},
				{"the whole history", r.pack("main"), r.id("main"), true},
				{"another branch", r.pack("other", "^"+old), r.id("other"), false},
				{"rewound", r.pack("main~15", "^"+old), r.id("main~15"), false},
				{"nothing new", r.pack("main", "^main"), r.id("main"), false},
			}
			for _, c := range cases {
				in := bufio.NewReader(bytes.NewReader(c.pack))
				got, err := gitwire.ReadPack(in, format == "sha256")
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				if got.Proves(old, c.to) != c.want {
					t.Errorf("%s: proven is %t", c.name, !c.want)
				}
				sum := map[string]int{"sha1": 20, "sha256": 32}[format]
				if rest := in.Buffered(); rest != sum {
					t.Errorf("%s: %d bytes left, want the checksum of %d", c.name, rest, sum)
				}
			}
		})
	}
}

func TestReadPackRefuses(t *testing.T) {
	t.Parallel()
	r := newRepository(t, "sha1", 2)
	good := r.pack("main")
	cases := map[string][]byte{
		"empty": nil, "another magic": append([]byte("KCAP"), good[4:]...),
		"cut off":             good[:len(good)/2],
		"another version":     append([]byte("PACK\x00\x00\x00\x09"), good[8:]...),
		"too many objects":    append([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"), good[12:]...),
		"another size":        append(append(bytes.Clone(good[:12]), good[12]^1), good[13:]...),
		"delta of the future": []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x60\x7f"),
	}
	for name, in := range cases {
		if _, err := gitwire.ReadPack(bufio.NewReader(bytes.NewReader(in)), false); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Nothing makes the reader read past its pack or prove what it doesn't hold.
func FuzzReadPack(f *testing.F) {
	r := newRepository(f, "sha1", 8)
	old, to := r.id("main~3"), r.id("main")
	f.Add(r.pack("main", "^main~3"))
	f.Add(r.pack("main"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := gitwire.ReadPack(bufio.NewReader(bytes.NewReader(in)), false)
		if err != nil {
			return
		}
		if got.Proves(to, to) || got.Proves(to, old) {
			t.Error("a pack proves that history runs backwards")
		}
	})
}

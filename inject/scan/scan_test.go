package scan_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/inject/scan"
)

const (
	plain = `c4nary-Zq81+/"<&'s3cret`
	stand = "ghp_SallyportAbCdEf"
)

// replaceSlow is what a Replacer does, byte by byte.
func replaceSlow(all []scan.Rendering, text []byte) []byte {
	var out []byte
	for i := 0; i < len(text); {
		var best *scan.Rendering
		for n := range all {
			if bytes.HasPrefix(text[i:], all[n].Text) && (best == nil || len(all[n].Text) > len(best.Text)) {
				best = &all[n]
			}
		}
		if best == nil {
			out = append(out, text[i])
			i++
			continue
		}
		out = append(out, best.Stand...)
		i += len(best.Text)
	}
	return out
}

func inPieces(r *scan.Replacer, text []byte, size func() int) []byte {
	s := r.Stream()
	var out []byte
	for len(text) > 0 {
		n := min(size(), len(text))
		// A copy of each piece, so that nothing hangs on to the caller's buffer.
		out = s.Append(out, bytes.Clone(text[:n]))
		text = text[n:]
	}
	return s.Close(out)
}

// Any way of cutting a text gives the same output, no rendering survives, and
// no other byte changes. Ledger: SI-15. Case: C05
func TestAnyChunkingGivesTheSame(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	all := scan.Renderings([]byte(plain), []byte(stand))
	all = append(all, scan.Renderings([]byte("abababab"), []byte("sp_ph_x"))...)
	all = append(all, scan.Renderings([]byte("abababababab"), []byte("sp_ph_y"))...)
	r := scan.NewReplacer(all)
	for round := range 3000 {
		var text []byte
		for range rng.IntN(12) {
			x := all[rng.IntN(len(all))].Text
			switch rng.IntN(4) {
			case 0:
				text = append(text, x...)
			case 1:
				text = append(text, x[:rng.IntN(len(x)+1)]...)
			case 2:
				text = append(text, x[rng.IntN(len(x)):]...)
			case 3:
				text = append(text, "ab 7&%"[:rng.IntN(7)]...)
			}
		}
		want := replaceSlow(all, text)
		for _, size := range []func() int{
			func() int { return 1 }, func() int { return len(text) }, func() int { return 1 + rng.IntN(40) },
		} {
			if got := inPieces(r, text, size); !bytes.Equal(got, want) {
				t.Fatalf("round %d: %q became\n%q, want\n%q", round, text, got, want)
			}
		}
		if got := r.String(string(text)); got != string(want) {
			t.Fatalf("String(%q) = %q, want %q", text, got, want)
		}
		if got := inPieces(r.Fitted(), text, func() int { return 1 + rng.IntN(9) }); len(got) != len(text) {
			t.Fatalf("fitted: %d bytes became %d", len(text), len(got))
		}
	}
}

// Decision 23
func TestEveryRenderingBecomesThePlaceholder(t *testing.T) {
	t.Parallel()
	r := scan.NewReplacer(scan.Renderings([]byte(plain), []byte(stand)))
	quoted, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	wantQuoted, err := json.Marshal(stand)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, in, want string }{
		{"literal", plain, stand},
		{"query", url.QueryEscape(plain), stand},
		{"path", url.PathEscape(plain), stand},
		{"small escapes", strings.ReplaceAll(strings.ToLower(url.QueryEscape("Z"+plain)), "c4nary-zq81", "c4nary-Zq81"), "z" + stand},
		{"JSON", string(quoted), string(wantQuoted)},
		{"HTML", html.EscapeString(plain), stand},
		{"hex", hex.EncodeToString([]byte(plain)), hex.EncodeToString([]byte(stand))},
		{"HEX", strings.ToUpper(hex.EncodeToString([]byte(plain))), strings.ToUpper(hex.EncodeToString([]byte(stand)))},
	}
	for _, c := range cases {
		if got := r.String("<" + c.in + ">"); got != "<"+c.want+">" {
			t.Errorf("%s: %q became %q", c.name, c.in, got)
		}
	}
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for _, user := range []string{"", "u:", "us:", "use:"} {
			got := r.String("Basic " + alphabet.EncodeToString([]byte(user+plain)))
			if want := "Basic " + alphabet.EncodeToString([]byte(user+stand)); got != want {
				t.Errorf("Basic of %q: %q, want %q", user, got, want)
			}
			inner := r.String(alphabet.EncodeToString([]byte(user + plain + " and so on")))
			if strings.Contains(inner, alphabet.EncodeToString([]byte(plain))[4:20]) {
				t.Errorf("inside base64 after %q: %q", user, inner)
			}
		}
	}
}

func TestShortSecretsAreNotLookedFor(t *testing.T) {
	t.Parallel()
	if all := scan.Renderings([]byte("hunter2"), []byte(stand)); all != nil {
		t.Errorf("got %d renderings", len(all))
	}
	var none *scan.Replacer
	if got := none.String("x"); got != "x" || !none.Even() {
		t.Error("a nil Replacer changes text")
	}
	if out := inPieces(none, []byte("abc"), func() int { return 2 }); string(out) != "abc" {
		t.Errorf("got %q", out)
	}
}

// What ends a line, as events do, is never waited on.
func TestEventsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	s := scan.NewReplacer(scan.Renderings([]byte(plain), []byte(stand))).Stream()
	for _, event := range []string{"data: c4\n\n", "data: " + plain + "\n\n", "data: }\n\n"} {
		want := strings.ReplaceAll(event, plain, stand)
		if got := string(s.Append(nil, []byte(event))); got != want {
			t.Errorf("%q came out as %q", event, got)
		}
	}
}

func FuzzChunking(f *testing.F) {
	f.Add([]byte("secretsecret"), []byte("xsecretsecretsecrets"), uint16(3))
	f.Add([]byte(plain), []byte(html.EscapeString(plain)+plain), uint16(7))
	f.Fuzz(func(t *testing.T, secret, text []byte, size uint16) {
		all := scan.Renderings(secret, []byte(stand))
		r := scan.NewReplacer(all)
		want := replaceSlow(all, text)
		if got := inPieces(r, text, func() int { return 1 + int(size) }); !bytes.Equal(got, want) {
			t.Fatalf("%q became %q, want %q", text, got, want)
		}
	})
}

// text of the kind that APIs answer with.
func prose(n int) []byte {
	const line = `data: {"id":"chatcmpl-7d0b9a4e","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" the quick brown fox and ghp_ of it"}}]}` + "\n\n"
	return bytes.Repeat([]byte(line), n/len(line)+1)[:n]
}

// cpuTime is what this process has used: on a busy machine the clock says
// little.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkStream(b *testing.B) {
	const piece = 32 << 10
	text := prose(1 << 20)
	out := make([]byte, 0, piece*2)
	for _, n := range []int{1, 8, 64} {
		var all []scan.Rendering
		rng := rand.New(rand.NewPCG(3, 4))
		for range n {
			secret := make([]byte, 30)
			for i := range secret {
				secret[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[rng.IntN(62)]
			}
			all = append(all, scan.Renderings(append([]byte("ghp_"), secret...), []byte(stand))...)
		}
		r := scan.NewReplacer(all)
		b.Run(map[int]string{1: "one secret", 8: "8 secrets", 64: "64 secrets"}[n], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				s := r.Stream()
				for i := 0; i < len(text); i += piece {
					out = s.Append(out[:0], text[i:i+piece])
				}
			}
			b.ReportMetric(float64(len(text)*b.N)/1e6/(cpuTime(b)-before).Seconds(), "MB/cpu-s")
		})
	}
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		before := cpuTime(b)
		for b.Loop() {
			for i := 0; i < len(text); i += piece {
				out = append(out[:0], text[i:i+piece]...)
			}
		}
		b.ReportMetric(float64(len(text)*b.N)/1e6/(cpuTime(b)-before).Seconds(), "MB/cpu-s")
	})
}

package redact_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/redact"
)

const key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\n/ygWyF8PbnGy0AHB7MhgHcTz\n-----END RSA PRIVATE KEY-----\n"

// Ledger: LO-2
func TestText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a1B2", 12)
	cases := []struct{ name, in, want string }{
		{"nothing", "hello world\n", "hello world\n"},
		{"no newline", "hello", "hello"},
		{"empty", "", ""},
		{"github", "token ghp_" + long + " end", "token [redacted] end"},
		{"github app", "ghs_" + long, "[redacted]"},
		{"github fine", "github_pat_" + long, "[redacted]"},
		{"gitlab", "glpat-" + long, "[redacted]"},
		{"model", "sk-" + long + "\n", "[redacted]\n"},
		{"model project", "sk-proj-" + long, "[redacted]"},
		{"not a key", "a task-runner-abcdefghijklmnop and disk-abcdefghijklmnopqrst", "a task-runner-abcdefghijklmnop and disk-abcdefghijklmnopqrst"},
		{"aws", "AKIAIOSFODNN7EXAMPLE", "[redacted]"},
		{"slack", "xoxb-123456789012-abc", "[redacted]"},
		{"npm", "//registry.example.com/:_authToken=npm_" + long, "//registry.example.com/:_authToken=[redacted]"},
		{"ours", "sp_" + long, "[redacted]"},
		{"jwt", "x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln y", "x [redacted] y"},
		{"jwt cut off", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi", "[redacted]"},
		{"header", "> Authorization: Basic dXNlcjpwYXNz\r\n", "> Authorization: [redacted]\r\n"},
		{"header of any case", "AUTHORIZATION=token abc", "AUTHORIZATION=[redacted]"},
		{"header in JSON", `{"authorization":"Bearer abc def","x":1}`, `{"authorization":"[redacted]","x":1}`},
		{"header in escaped JSON", `"{\"Authorization\": \"Bearer abc\"}"`, `"{\"Authorization\": \"[redacted]\"}"`},
		{"proxy header", "Proxy-Authorization: x", "Proxy-Authorization: [redacted]"},
		{"api key header", "x-api-key: abcd", "x-api-key: [redacted]"},
		{"cookie", "< Set-Cookie: a=b; HttpOnly", "< Set-Cookie: [redacted]"},
		{"bearer", "curl says bearer abcdefghijklmnop", "curl says bearer [redacted]"},
		{"url", "fetch https://user:pass@host.example.com/x", "fetch https://[redacted]@host.example.com/x"},
		{"url token", "git clone https://tok@host.example.com/x", "git clone https://[redacted]@host.example.com/x"},
		{"url without", "https://host.example.com/a@b", "https://host.example.com/a@b"},
		{"ssh url", "ssh://git@host.example.com/x", "ssh://[redacted]@host.example.com/x"},
		{"private key", "before\n" + key + "after\n", "before\n[redacted]\nafter\n"},
		{"private key, escaped", `"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n" x`, `"[redacted]\n" x`},
		{"private key, cut off", "-----BEGIN PRIVATE KEY-----\nMIIE\nrm: no such file", "[redacted]\nrm: no such file"},
		{"two in a line", "ghp_" + long + ",ghp_" + long, "[redacted],[redacted]"},
		{"coloured", "\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K" + long, "[redacted]"},
		{"colours stay", "\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := redact.New().Text(c.in); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestKnownValues(t *testing.T) {
	t.Parallel()
	r := redact.New("hunter2hunter2", "multi\nline value")
	for _, c := range []struct{ in, want string }{
		{"a hunter2hunter2 b", "a [redacted] b"},
		{"aHVudGVyMmh1bnRlcjI=", "[redacted]"},
		{"x multi\nline value y", "x [redacted] y"},
		{"multi%0Aline%20value", "[redacted]"},
	} {
		if got := r.Text(c.in); got != c.want {
			t.Errorf("%q: got %q", c.in, got)
		}
	}
	for line, want := range map[string]string{
		"a hunter2hunter2 b":                            "known",
		"AKIAIOSFODNN7EXAMPLE":                          "AWS key",
		"https://AKIAIOSFODNN7EXAMPLE@x hunter2hunter2": "known, password in a URL, AWS key",
		"nothing to see":                                "",
	} {
		var got []string
		for _, f := range r.Find([]byte(line)) {
			got = append(got, f.Kind)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: got %q", line, got)
		}
	}
}

// A credential is found wherever it stands in a line that is looked at in
// parts, and however long it is.
func TestLongLines(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("Z9", 20)
	for _, at := range []int{0, 28<<10 - 20, 28 << 10, 32<<10 - 20, 32<<10 - 2, 32 << 10, 100_000} {
		for _, secret := range []string{token, "Authorization: " + strings.Repeat("secret", 5), "https://u:" + strings.Repeat("pw", 30) + "@h.example.com"} {
			in := strings.Repeat("x ", at/2) + secret + " " + strings.Repeat("y ", 40_000)
			got := redact.New().Text(in)
			if strings.Contains(got, "Z9") || strings.Contains(got, "secret") || strings.Contains(got, "pw") {
				t.Errorf("at %d: %.20s: shown", at, secret)
			}
			if !strings.Contains(got, redact.Mark) || len(got) < len(in)-len(secret)-80_100 {
				t.Errorf("at %d: %.20s: %d bytes of %d", at, secret, len(got), len(in))
			}
		}
	}
	got := redact.New().Text("a ghp_" + strings.Repeat("A", 200_000) + " b\nnext")
	if got != "a [redacted] b\nnext" {
		t.Errorf("got %.100q", got)
	}
}

// corpus are texts to cut at every place.
var corpus = []string{
	"x ghp_abcdefghijklmnopqrstuvwxyz0123456789 y\n" + key + "z\n",
	"Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln\nhttps://a:b@c.example.com\n",
	"\x1b[31msk-\x1b[0mabcdefghijklmnopqrstu known-value-1 a25vd24tdmFsdWUtMQ==",
	"-----BEGIN PRIVATE KEY-----\nAAAA\nnot a key line!\nBBBB\n",
}

func pieces(r *redact.Redactor, text string, cut ...int) string {
	s := r.Stream()
	var out []byte
	from := 0
	for _, at := range cut {
		out = s.Append(out, []byte(text[from:at]))
		from = at
	}
	out = s.Append(out, []byte(text[from:]))
	return string(s.Close(out))
}

func TestEveryCut(t *testing.T) {
	t.Parallel()
	r := redact.New("known-value-1")
	for _, text := range corpus {
		want := r.Text(text)
		for i := range len(text) + 1 {
			if got := pieces(r, text, i); got != want {
				t.Fatalf("cut at %d: got %q, want %q", i, got, want)
			}
		}
		all := make([]int, len(text))
		for i := range all {
			all[i] = i
		}
		if got := pieces(r, text, all...); got != want {
			t.Errorf("byte by byte: got %q, want %q", got, want)
		}
	}
}

// Ledger: LO-2
func FuzzCuts(f *testing.F) {
	for _, text := range corpus {
		f.Add(text, uint64(1), uint(0))
		f.Add(text, uint64(2), uint(32<<10-30))
	}
	r := redact.New("known-value-1", "second\nvalue")
	f.Fuzz(func(t *testing.T, text string, seed uint64, ahead uint) {
		text = strings.Repeat("-", int(ahead%(40<<10))) + text
		want := r.Text(text)
		rng := rand.New(rand.NewPCG(seed, 1))
		var cuts []int
		for at := 0; len(text) > 0 && len(cuts) < 100; {
			at += rng.IntN(len(text)/8 + 2)
			if at > len(text) {
				break
			}
			cuts = append(cuts, at)
		}
		if got := pieces(r, text, cuts...); got != want {
			t.Fatalf("cuts %v: got %q, want %q", cuts, got, want)
		}
		if len(text) < 4<<10 {
			for line := range strings.Lines(want) {
				if again := r.Text(line); again != line && !strings.Contains(line, redact.Mark) {
					t.Fatalf("still shown: %q becomes %q", line, again)
				}
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	for name, line := range map[string]string{
		"plain":  "Setting up libexample (1.2.3-4) ...\n",
		"hinted": "Get:1 https://registry.example.com/debian bookworm/main amd64 libexample 1.2.3-4 [100 kB]\n",
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(strings.Repeat(line, 1000))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			s := redact.New().Stream()
			var out []byte
			for b.Loop() {
				out = s.Append(out[:0], text)
			}
		})
	}
}

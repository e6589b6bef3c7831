package inside_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/inside"
)

// Case: D30.
func TestLine(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, text, want string }{
		{"nothing", " \n\n", ""},
		{"last", "one\ntwo\n", "two"},
		{"progress", "10%\r100%\n", "100%"},
		{"terminal", "a\n\x1b]52;c;YQ==\x07fatal: \x1b[31mno\u202e\n", "]52;c;YQ== fatal:  [31mno"},
		{"long", strings.Repeat("é", 400), strings.Repeat("é", 300)},
		{"not text", "\xff\xfe", "\ufffd\ufffd"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := inside.Line(c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestBufferIsBounded(t *testing.T) {
	t.Parallel()
	var b inside.Buffer
	chunk := make([]byte, inside.MaxOutput/2+1)
	for range 3 {
		if n, err := b.Write(chunk); n != len(chunk) || err != nil {
			t.Fatalf("wrote %d: %v", n, err)
		}
	}
	if len(b.String()) != inside.MaxOutput {
		t.Errorf("%d bytes are held", len(b.String()))
	}
}

package secret_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sallyport/sallyport/inject/secret"
)

const canary = "c4nary-Zq81"

// forms are the renderings of the canary that a printer could produce.
func forms() []string {
	dec := fmt.Sprintf("%d", []byte(canary))
	return []string{
		canary,
		strings.Trim(dec, "[]"),
		fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("% x", canary),
		strings.TrimSuffix(fmt.Sprintf("%#v", []byte(canary))[len("[]byte{"):], "}"),
		"YzRuYXJ5LVpxODE", // base64
	}
}

func requireHidden(t *testing.T, what, got string) {
	t.Helper()
	for _, f := range forms() {
		if strings.Contains(got, f) {
			t.Errorf("%s shows the value as %q", what, got)
		}
	}
}

// holder keeps a Value where fmt can't call its methods.
type holder struct {
	v  secret.Value
	vs []secret.Value
	m  map[string]secret.Value
	p  *secret.Value
	a  any
	s  secret.Secret
}

// Ledger: SI-2
func TestNoVerbShowsTheValue(t *testing.T) {
	t.Parallel()
	v := secret.NewValue([]byte(canary))
	h := holder{v: v, vs: []secret.Value{v}, m: map[string]secret.Value{"k": v}, p: &v, a: v, s: secret.Secret{Value: v}}
	subjects := map[string]any{
		"value": v, "pointer": &v, "slice": []secret.Value{v}, "map": map[string]secret.Value{"k": v},
		"secret": h.s, "holder": h, "holder pointer": &h, "error": fmt.Errorf("wrapped: %v", v),
	}
	for name, subject := range subjects {
		for verb := rune('!'); verb <= '~'; verb++ {
			for _, flags := range []string{"", "+", "#", " ", "-", "0", "30", ".3", "+#"} {
				format := "%" + flags + string(verb)
				requireHidden(t, name+" "+format, fmt.Sprintf(format, subject))
			}
		}
		requireHidden(t, name+" Sprint", fmt.Sprint(subject))
		requireHidden(t, name+" Sprintln", fmt.Sprintln(subject))
	}
}

// Ledger: SI-2
func TestNoEncodingShowsTheValue(t *testing.T) {
	t.Parallel()
	v := secret.NewValue([]byte(canary))
	s := secret.Secret{Value: v, Version: "7"}
	encoders := map[string]func(any) ([]byte, error){
		"json": json.Marshal,
		"yaml": yaml.Marshal,
		"xml":  xml.Marshal,
		"gob": func(x any) ([]byte, error) {
			var b bytes.Buffer
			err := gob.NewEncoder(&b).Encode(x)
			return b.Bytes(), err
		},
		"slog text": func(x any) ([]byte, error) {
			var b bytes.Buffer
			slog.New(slog.NewTextHandler(&b, nil)).Info("m", "k", x)
			return b.Bytes(), nil
		},
		"slog json": func(x any) ([]byte, error) {
			var b bytes.Buffer
			slog.New(slog.NewJSONHandler(&b, nil)).Info("m", slog.Group("g", "k", x))
			return b.Bytes(), nil
		},
	}
	for name, encode := range encoders {
		for _, subject := range []any{v, &v, s, &s, holder{v: v, s: s}} {
			b, err := encode(subject)
			requireHidden(t, name, string(b))
			if err != nil {
				requireHidden(t, name+" error", err.Error())
			}
		}
	}
	b, err := json.Marshal(v)
	if err != nil || string(b) != `"[secret]"` {
		t.Errorf("json = %s, %v", b, err)
	}
}

func TestValueCopiesItsBytes(t *testing.T) {
	t.Parallel()
	b := []byte(canary)
	v := secret.NewValue(b)
	b[0] = 'X'
	if got := string(v.Reveal()); got != canary {
		t.Errorf("Reveal = %q after the caller changed its slice", got)
	}
	if !(secret.Value{}).IsEmpty() || v.IsEmpty() || (secret.Value{}).Reveal() != nil {
		t.Error("IsEmpty is wrong")
	}
}

// Case: C15
func TestChecksNameTheOffsetOnly(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		check  func([]byte) error
		value  string
		want   string // "" means accepted
		offset int
	}{
		{"plain", secret.CheckHeader, "abc", "", 0},
		{"inner space", secret.CheckHeader, "Token abc", "", 0},
		{"line feed", secret.CheckHeader, "ab\nc", "value has a line feed at byte 2", 2},
		{"carriage return", secret.CheckHeader, "a\rbc", "value has a carriage return at byte 1", 1},
		{"NUL", secret.CheckHeader, "\x00", "value has a NUL at byte 0", 0},
		{"tab", secret.CheckHeader, "a\tb", "value has a control character at byte 1", 1},
		{"DEL", secret.CheckHeader, "ab\x7f", "value has a control character at byte 2", 2},
		{"non-ASCII letter", secret.CheckHeader, "pässword", "value has a byte outside ASCII at byte 1", 1},
		{"byte order mark", secret.CheckHeader, "\ufeffk", "value has a byte outside ASCII at byte 0", 0},
		{"leading space", secret.CheckHeader, " k", "value has a space at byte 0", 0},
		{"trailing space", secret.CheckHeader, "k ", "value has a space at byte 1", 1},
		{"empty", secret.CheckHeader, "", "value is empty", -1},
		{"non-ASCII line", secret.CheckLine, "pässword ", "", 0},
		{"line with LF", secret.CheckLine, "p\n", "value has a line feed at byte 1", 1},
		{"empty size", secret.CheckSize, "", "value is empty", -1},
		{"largest size", secret.CheckSize, strings.Repeat("x", secret.MaxValue), "", 0},
		{"too large", secret.CheckSize, strings.Repeat("x", secret.MaxValue+1), "value is longer than 65536 bytes", -1},
	}
	for _, c := range cases {
		err := c.check([]byte(c.value))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var ve *secret.ValueError
		if !errors.As(err, &ve) || !errors.Is(err, secret.ErrUnavailable) || err.Error() != c.want || ve.Offset != c.offset {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// Case: C14
func TestTrimNewlineDropsOne(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"k": "k", "k\n": "k", "k\r\n": "k", "k\n\n": "k\n", "k\r": "k\r", "\n": "", "": "", " k ": " k ",
	} {
		if got := string(secret.TrimNewline([]byte(in))); got != want {
			t.Errorf("TrimNewline(%q) = %q, want %q", in, got, want)
		}
	}
}

package memory_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject/memory"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/secret/secrettest"
)

func TestSource(t *testing.T) {
	t.Parallel()
	secrettest.Run(t, func(t *testing.T) secrettest.Fixture {
		s := memory.New()
		return secrettest.Fixture{
			Source: s,
			Names:  [2]string{"box-1/API_TOKEN", "box-1/OTHER"},
			Set: func(t *testing.T, name, value string) {
				if err := s.Set(name, []byte(value)); err != nil {
					t.Error(err)
				}
			},
			Remove: func(t *testing.T, name string) {
				if !s.Delete(name) {
					t.Errorf("%q was not there", name)
				}
			},
		}
	})
}

// Ledger: SI-14, SI-29
func TestSetRefusesUnusableValues(t *testing.T) {
	t.Parallel()
	s := memory.New()
	for _, value := range []string{"", "a\nb", "a\rb", "a\x00b", strings.Repeat("x", secret.MaxValue+1)} {
		var ve *secret.ValueError
		if err := s.Set("n", []byte(value)); !errors.As(err, &ve) {
			t.Errorf("value of %d bytes: got %v", len(value), err)
		}
	}
	if err := s.Set("", []byte("x")); err == nil {
		t.Error("an empty name was accepted")
	}
	if got := s.Versions(); len(got) != 0 {
		t.Errorf("refused values were stored: %v", got)
	}
}

func TestVersionsGrowAcrossDeletion(t *testing.T) {
	t.Parallel()
	s := memory.New()
	for _, name := range []string{"a", "b", "a"} {
		if err := s.Set(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	s.Delete("b")
	if s.Delete("b") {
		t.Error("a secret was deleted twice")
	}
	if got, want := s.Versions(), map[string]string{"a": "3"}; !maps.Equal(got, want) {
		t.Errorf("Versions = %v, want %v", got, want)
	}
}

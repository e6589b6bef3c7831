package env_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject/env"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/secret/secrettest"
)

func TestSource(t *testing.T) {
	secrettest.Run(t, func(t *testing.T) secrettest.Fixture {
		names := [2]string{"SALLYPORT_TEST_A", "SALLYPORT_TEST_B"}
		for _, name := range names {
			t.Setenv(name, "") // puts back what was there
			os.Unsetenv(name)
		}
		return secrettest.Fixture{
			Source:    env.Source{},
			Names:     names,
			Malformed: []string{"A=B", "A\x00B"},
			Set: func(t *testing.T, name, value string) {
				if err := os.Setenv(name, value); err != nil {
					t.Error(err)
				}
			},
			Remove: func(t *testing.T, name string) {
				if err := os.Unsetenv(name); err != nil {
					t.Error(err)
				}
			},
		}
	})
}

func TestErrorsSayWhy(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_EMPTY", "")
	t.Setenv("SALLYPORT_TEST_HUGE", strings.Repeat("x", secret.MaxValue+1))
	cases := []struct {
		name string
		want error
		hint string
	}{
		{"SALLYPORT_TEST_ABSENT", secret.ErrNotFound, "not set"},
		{"SALLYPORT_TEST_EMPTY", secret.ErrNotFound, "set but empty"},
		{"SALLYPORT_TEST_HUGE", secret.ErrUnavailable, "longer than"},
	}
	for _, c := range cases {
		_, err := env.Source{}.Read(t.Context(), c.name)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

package githelper_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/sandboxd/githelper"
)

func granted(t *testing.T) []broker.Granted {
	t.Helper()
	grants, err := broker.Compile([]broker.Grant{
		{Repository: "octo/app", Issuer: "g"}, {Repository: "octo/site", Issuer: "g"}, {Repository: "a/b", Host: "git.example.com", Issuer: "g"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return grants.All()
}

// Ledger: GB-3.
func TestEnvNamesEachHostOnce(t *testing.T) {
	t.Parallel()
	env := githelper.Env(granted(t))
	if env["GIT_CONFIG_COUNT"] != "12" || env["GIT_CONFIG_KEY_1"] != "credential.https://github.com.helper" ||
		env["GIT_CONFIG_VALUE_0"] != "" || env["GIT_CONFIG_VALUE_1"] != githelper.Path || env["GIT_TERMINAL_PROMPT"] != "0" {
		t.Errorf("got %q", env)
	}
	if len(githelper.Env(nil)) > 0 {
		t.Error("git is configured without a grant")
	}
}

// Ledger: GB-9.
func TestVerifyNamesTheStep(t *testing.T) {
	t.Parallel()
	const answer = "username=u\npassword=c4nary\n"
	broken := errors.New("sandbox has ended")
	cases := []struct {
		name   string
		helper githelper.Result
		git    githelper.Result
		err    error
		step   githelper.Step // "" if all is well
	}{
		{"well", githelper.Result{Stdout: answer}, githelper.Result{}, nil, ""},
		{"no helper", githelper.Result{Code: 127, Stderr: "not found"}, githelper.Result{}, nil, githelper.StepHelper},
		{"no broker", githelper.Result{Stdout: "quit=1\n", Stderr: "sallyport: x: reach the broker: refused"}, githelper.Result{}, nil, githelper.StepBroker},
		{"no credential", githelper.Result{Stdout: "quit=1\n", Stderr: "sallyport: x: (git_refused)"}, githelper.Result{}, nil, githelper.StepMint},
		{"no answer", githelper.Result{}, githelper.Result{}, nil, githelper.StepMint},
		{"forge says no", githelper.Result{Stdout: answer}, githelper.Result{Code: 128, Stderr: "fatal: Authentication failed"}, nil, githelper.StepRemote},
		{"no sandbox", githelper.Result{}, githelper.Result{}, broken, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := githelper.Verify(t.Context(), func(_ context.Context, argv []string, _ string) (githelper.Result, error) {
				if argv[0] == githelper.Path {
					return c.helper, c.err
				}
				return c.git, c.err
			}, granted(t)[:1])
			var v *githelper.VerifyError
			switch {
			case c.err != nil && !errors.Is(err, c.err), c.err == nil && c.step == "" && err != nil:
				t.Errorf("error %v", err)
			case c.step != "" && (!errors.As(err, &v) || v.Step != c.step || !strings.HasPrefix(err.Error(), githelper.ErrorCode+": github.com/octo/app: ")):
				t.Errorf("error %v, want step %s", err, c.step)
			case err != nil && strings.Contains(err.Error(), "c4nary"):
				t.Errorf("the error holds the credential: %v", err)
			}
		})
	}
}

package githelper_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/sandboxd/githelper"
	"github.com/sallyport/sallyport/sandboxd/inside"
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

// Ledger: GB-3. Case: D13.
func TestEnvNamesEachHostOnce(t *testing.T) {
	t.Parallel()
	env := githelper.Env(granted(t), nil)
	if env["GIT_CONFIG_COUNT"] != "14" || env["GIT_CONFIG_KEY_1"] != "credential.https://github.com.helper" ||
		env["GIT_CONFIG_VALUE_0"] != "" || env["GIT_CONFIG_VALUE_1"] != githelper.Path || env["GIT_TERMINAL_PROMPT"] != "0" {
		t.Errorf("got %q", env)
	}
	if env["GIT_CONFIG_KEY_3"] != "url.https://github.com/.insteadOf" || env["GIT_CONFIG_VALUE_3"] != "git@github.com:" {
		t.Errorf("SSH isn't led to https: %q", env)
	}
	if env = githelper.Env(nil, map[string]string{"b": "2", "a": "1"}); env["GIT_CONFIG_COUNT"] != "2" || env["GIT_CONFIG_KEY_0"] != "a" || env["GIT_CONFIG_VALUE_1"] != "2" {
		t.Errorf("got %q", env)
	}
	if len(githelper.Env(nil, nil)) > 0 {
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
		helper inside.Result
		git    inside.Result
		err    error
		step   githelper.Step // "" if all is well
	}{
		{"well", inside.Result{Stdout: answer}, inside.Result{}, nil, ""},
		{"no helper", inside.Result{Code: 127, Stderr: "not found"}, inside.Result{}, nil, githelper.StepHelper},
		{"no broker", inside.Result{Stdout: "quit=1\n", Stderr: "sallyport: x: reach the broker: refused"}, inside.Result{}, nil, githelper.StepBroker},
		{"no credential", inside.Result{Stdout: "quit=1\n", Stderr: "sallyport: x: (git_refused)"}, inside.Result{}, nil, githelper.StepMint},
		{"no answer", inside.Result{}, inside.Result{}, nil, githelper.StepMint},
		{"no git", inside.Result{Stdout: answer}, inside.Result{Code: 127, Stderr: "not found"}, nil, githelper.StepRemote},
		{"policy says no", inside.Result{Stdout: answer}, inside.Result{Code: 128, Stderr: "fatal: x: CONNECT tunnel failed, response 403"}, nil, githelper.StepRemote},
		{"forge says no", inside.Result{Stdout: answer}, inside.Result{Code: 128, Stderr: "fatal: Authentication failed"}, nil, githelper.StepRemote},
		{"no sandbox", inside.Result{}, inside.Result{}, broken, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := githelper.Verify(t.Context(), func(_ context.Context, cmd inside.Command) (inside.Result, error) {
				if cmd.Argv[0] == githelper.Path {
					return c.helper, c.err
				}
				return c.git, c.err
			}, granted(t)[:1])
			var v *githelper.VerifyError
			switch {
			case c.err != nil && !errors.Is(err, c.err), c.err == nil && c.step == "" && err != nil:
				t.Errorf("error %v", err)
			case c.step != "" && (!errors.As(err, &v) || v.Step != c.step || v.Message == "" || !strings.HasPrefix(err.Error(), githelper.ErrorCode+": github.com/octo/app: ")):
				t.Errorf("error %v, want step %s", err, c.step)
			case err != nil && strings.Contains(err.Error(), "c4nary"):
				t.Errorf("the error holds the credential: %v", err)
			}
		})
	}
}

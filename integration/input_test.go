package integration_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// A mistake of the caller is answered with what is wrong, where, and what was
// expected; nothing is started.
func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	dir := share(t)
	policy := func(name, text string) string { return write(t, dir, name, text) }
	cases := []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"unknown key in a policy", []string{"run", "--policy", policy("a.json", `{"version": "v1", "rules": [{"match": {"host_glob": "*", "port": 1}, "action": {"type": "allow"}}]}`), "--", "true"},
			1, []string{"a.json", "rules[0].match", "port"}},
		{"wrong action in a policy", []string{"run", "--policy", policy("b.yaml", "version: v1\nrules:\n  - {match: {host_glob: '*'}, action: {type: permit}}\n"), "--", "true"},
			1, []string{"b.yaml", "rules[0].action.type", "allow", "deny"}},
		{"policy that isn't one", []string{"run", "--policy", policy("c.json", `[1, 2`), "--", "true"}, 1, []string{"c.json"}},
		{"policy without rules", []string{"run", "--policy", policy("d.json", `{"version": "v1"}`), "--", "true"}, 1, []string{"d.json", "rules"}},
		{"no such policy", []string{"run", "--policy", filepath.Join(dir, "none.json"), "--", "true"}, 1, []string{"none.json", "no such file"}},
		{"unknown flag", []string{"run", "--alow", "example.com", "--", "true"}, 2, []string{"--alow"}},
		{"unknown command", []string{"runn"}, 2, []string{"runn"}},
		{"no command to run", []string{"run"}, 2, []string{"command"}},
		{"secret without a host", []string{"run", "--secret", "TOKEN", "--", "true"}, 2, []string{"TOKEN", "NAME@HOST"}},
		{"secret from an unknown source", []string{"run", "--secret", "T@example.com", "--secret-from", "T=clipboard:x", "--", "true"}, 2, []string{"clipboard"}},
		{"bad glob", []string{"run", "--allow", "exa mple.com", "--", "true"}, 2, []string{"exa mple.com"}},
		{"bad address", []string{"run", "--upstream-cidr", "10.0.0.0/99", "--", "true"}, 2, []string{"--upstream-cidr", "10.0.0.0/8"}},
		{"no such workspace", []string{"run", "--workspace", filepath.Join(dir, "nowhere"), "--", "true"}, 1, []string{"nowhere"}},
		{"unknown image", []string{"run", "--image", filepath.Join(dir, "no-image"), "--", "true"}, 1, []string{"no-image"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res := run(t, asRoot, nil, product.Path("sallyport"), c.args...)
			res.want(t, c.code)
			contains(t, res.stderr, c.says...)
			if strings.Contains(res.stderr, "panic") || strings.Contains(res.stderr, "goroutine ") {
				t.Errorf("it fell over: %s", clip(res.stderr))
			}
		})
	}
}

func TestUnknownKeyInEdgeConfiguration(t *testing.T) {
	t.Parallel()
	dir := share(t)
	for name, c := range map[string]struct{ text, says string }{
		"top.yaml":    {"state: " + dir + "\nlisten: {proxy: '127.0.0.1:0'}\nlisten_on: x\n", "listen_on"},
		"below.yaml":  {"state: " + dir + "\nlisten: {proxxy: '127.0.0.1:0'}\n", "proxxy"},
		"policy.yaml": {"state: " + dir + "\nlisten: {proxy: '127.0.0.1:0'}\nboundaries: [{id: ci, network_policy: {version: v1, rules: [{match: {host: x}, action: {type: allow}}]}}]\n", "rules[0].match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, dir, name, c.text)
			for _, verb := range []string{"check", "serve"} {
				res := run(t, asRoot, nil, product.Path("edge"), verb, "--config", path)
				if res.code == 0 {
					t.Errorf("edge %s takes it", verb)
				}
				contains(t, res.stderr, name, c.says)
			}
		})
	}
}

// A command's own end is sallyport's.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	dir := share(t)
	write(t, dir, "not-executable", "x")
	cases := []struct {
		name    string
		command []string
		code    int
		says    string
	}{
		{"success", []string{"true"}, 0, ""},
		{"its own code", []string{"sh", "-c", "exit 42"}, 42, ""},
		{"a signal", []string{"sh", "-c", "kill -TERM $$"}, 128 + 15, ""},
		{"no such command", []string{"no-such-command-here"}, 127, "no-such-command-here"},
		{"no such file", []string{"/workspace/nothing"}, 127, "/workspace/nothing"},
		{"not executable", []string{"/workspace/not-executable"}, 126, "/workspace/not-executable"},
	}
	for _, who := range callers {
		for _, c := range cases {
			t.Run(who.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				res := run(t, who, nil, product.Path("sallyport"), append([]string{"run", "--workspace", dir, "--"}, c.command...)...)
				res.want(t, c.code)
				contains(t, res.stderr, c.says)
			})
		}
	}
}

// Where namespaces can't be had, it says what is missing and what to do.
func TestWithoutNamespacesItSaysWhatToDo(t *testing.T) {
	t.Parallel()
	// A user namespace in which no other may be made, as on a hardened host.
	res := run(t, asOrdinary, nil, "unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
		`echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$0" run -- true`, product.Path("sallyport"))
	if res.code == 0 {
		t.Fatal("it claims to work without namespaces")
	}
	contains(t, res.stderr, "namespace", "max_user_namespaces")
}

package image_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sallyport/sallyport/sandboxd/image"
)

const token = "ghp_q7R2mZ9kT4wX8vB3nL6pY1sD5fG0hJcEaUoI"

// Ledger: IM-12
func TestInspect(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n"
	cases := []struct{ path, text, want string }{
		{"workspace/repo/.git/config", "[remote \"origin\"]\n\turl = https://u:" + token + "@forge.example.com/o/r\n", "password in a URL"},
		{"workspace/repo/.git/config", "url = https://" + token + "@forge.example.com/o/r\n", "password in a URL"},
		{"workspace/repo/.git/config", "url = ssh://git@forge.example.com/o/r\n", ""},
		{"workspace/repo/.git/config", "[http]\n\textraheader = Authorization: Basic eA==\n", "authorization"},
		{"home/user/.netrc", "machine forge.example.com login x password hunter2hunter2\n", "a password or token"},
		{"home/user/.npmrc", "//registry.example.com/:_authToken=abcdefghijkl\n", "a password or token"},
		{"home/user/.npmrc", "//registry.example.com/:_authToken=${NPM_TOKEN}\n", ""},
		{"home/user/.npmrc", "cache=/tmp/npm\n", ""},
		{"home/user/.ssh/id_rsa", key, "private key"},
		{"home/user/.git-credentials", "https://u:pass@forge.example.com\n", "password in a URL"},
		{"home/user/.docker/config.json", `{"auths":{"x":{"auth":"eA=="}}}`, ""},
		{"workspace/.env", "TOKEN=" + token + "\n", "GitHub token"},
		{"workspace/notes.txt", "use " + token + " to log in", "GitHub token"},
		{"workspace/long.json", strings.Repeat("x", 63<<10) + " " + token + strings.Repeat(" y", 50<<10), "GitHub token"},
		{"workspace/README.md", "use ghp_" + strings.Repeat("x", 36) + " to log in; AKIAIOSFODNN7EXAMPLE", ""},
		{"workspace/README.md", "curl -H 'Authorization: Bearer abc' https://user:pass@h.example.com\n" + key, ""},
		{"workspace/node_modules/p/test/key.js", "const t = '" + token + "'", ""},
		{"workspace/node_modules/p/.npmrc", "//r.example.com/:_authToken=abcdefghijkl", ""},
		{"usr/lib/python3/dist-packages/x.py", token, ""},
		{"etc/apt/auth.conf.d/x", "machine h.example.com login u password abcdefgh1\n", "a password or token"},
	}
	for _, c := range cases {
		t.Run(c.path+" "+c.want, func(t *testing.T) {
			t.Parallel()
			err := image.Inspect(t.Context(), fstest.MapFS{c.path: {Data: []byte(c.text)}, "etc/x": {}})
			var refused *image.RefusedError
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if !errors.As(err, &refused) || refused.Kind != c.want || refused.Path != "/"+c.path {
				t.Errorf("got %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("says the secret: %v", err)
			}
		})
	}
}

// A value that is known is found in every file, whatever it is written as.
func TestInspectKnownValues(t *testing.T) {
	t.Parallel()
	const placeholder = "sallyport-placeholder-1"
	for path, text := range map[string]string{
		"workspace/node_modules/p/x.js":         "x " + placeholder,
		"usr/lib/x":                             strings.Repeat("\x00", 100<<10) + placeholder,
		"workspace/b64":                         "c2FsbHlwb3J0LXBsYWNlaG9sZGVyLTE=",
		"workspace/" + placeholder + "/a.txt":   "",
		"home/user/.cache/big":                  strings.Repeat("z", 2<<20) + placeholder,
		"var/lib/x/" + placeholder + "/y/z.txt": "",
	} {
		err := image.Inspect(t.Context(), fstest.MapFS{path: {Data: []byte(text)}}, placeholder)
		var refused *image.RefusedError
		if !errors.As(err, &refused) || refused.Kind != "a value of the session" || strings.Contains(refused.Path, placeholder) {
			t.Errorf("%.60s: got %v", path, err)
		}
	}
}

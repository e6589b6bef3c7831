// Package githelper puts git's credential helper into sandboxes, and proves
// that it works there.
//
// [Program] is the helper, to be placed at [Path]; [Env] are the variables that
// make git ask it, for the granted repositories' hosts and nothing else.
// [Verify] follows one credential the whole way before anybody's first command.
// Whoever starts sandboxes calls it.
//
// Security promise: nothing that this package puts into a sandbox is a secret.
package githelper

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/sallyport/sallyport/broker"
)

//go:generate env CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o embedded/git-credential-sallyport ../../cmd/git-credential-sallyport

// embedded holds the helper, if it was built before this package was.
//
//go:embed all:embedded
var embedded embed.FS

// Path is where the helper is in a sandbox.
const Path = "/opt/sallyport/git-credential-sallyport"

// ErrNotBuilt is returned by Program when this program was built without it.
var ErrNotBuilt = errors.New("built without the git credential helper: run make build")

// Program returns the helper, a static executable. The caller must not change
// it.
func Program() ([]byte, error) {
	program, err := embedded.ReadFile("embedded/git-credential-sallyport")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotBuilt
	}
	return program, err
}

// Env returns the variables that configure git (git-config(1), GIT_CONFIG_COUNT)
// to ask the helper, per URL of the granted hosts (ledger GB-3), and to say
// more, by key. The empty helper before it drops those that an image has
// configured for the host: a definite answer must not be followed by a prompt or
// by somebody else's. URLs of the hosts for SSH and git's own protocol, neither
// of which leaves a sandbox, are read as https.
func Env(grants []broker.Granted, more map[string]string) map[string]string {
	env := map[string]string{}
	n := 0
	set := func(key, value string) {
		env[fmt.Sprintf("GIT_CONFIG_KEY_%d", n)] = key
		env[fmt.Sprintf("GIT_CONFIG_VALUE_%d", n)] = value
		n++
	}
	var hosts []string
	for _, g := range grants {
		if host := g.Host.String(); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	for _, host := range hosts {
		at := "credential.https://" + host
		set(at+".helper", "")
		set(at+".helper", Path)
		set(at+".useHttpPath", "true")
		for _, other := range []string{"git@" + host + ":", "ssh://git@" + host + "/", "ssh://git@" + host + ":22/", "git://" + host + "/"} {
			set("url.https://"+host+"/.insteadOf", other)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(more)) {
		set(key, more[key])
	}
	if n == 0 {
		return nil
	}
	env["GIT_TERMINAL_PROMPT"] = "0"
	env["GIT_CONFIG_COUNT"] = fmt.Sprint(n)
	return env
}

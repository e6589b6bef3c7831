package environment

import (
	"path"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/fault"
)

// instructions of a build step, in the spelling of Dockerfiles. Steps begin from
// the service's own image and can neither change who runs commands nor fetch
// past the network policy.
var instructions = []string{"RUN", "ENV", "WORKDIR"}

// checkSteps is ledger IM-7.
func checkSteps(d Definition, _ Rules) error {
	for i, step := range d.Steps {
		word, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		switch {
		case !slices.Contains(instructions, strings.ToUpper(word)):
			return fault.Invalid(element("steps", i), "must begin with %s", strings.Join(instructions, ", "))
		case strings.TrimSpace(rest) == "":
			return fault.Invalid(element("steps", i), "has nothing after %s", strings.ToUpper(word))
		case strings.ContainsRune(step, 0):
			return fault.Invalid(element("steps", i), "has a NUL")
		}
	}
	return nil
}

// cacheRoot is the folder below which directories can be kept between boots.
const cacheRoot = "/home/user"

// checkBootSetup is ledger SC-1 and SC-4.
func checkBootSetup(d Definition, _ Rules) error {
	for i, s := range d.BootSetup {
		at := element("boot_setup", i)
		switch {
		case s.Name == "":
			return fault.Invalid(at+".name", "is required")
		case slices.ContainsFunc(d.BootSetup[:i], func(o BootStep) bool { return o.Name == s.Name }):
			return fault.Invalid(at+".name", "%q is there already", s.Name)
		case len(s.Commands) == 0:
			return fault.Invalid(at+".commands", "must have a command")
		}
		for j, c := range s.Commands {
			if strings.TrimSpace(c) == "" || strings.ContainsRune(c, 0) {
				return fault.Invalid(element(at+".commands", j), "must be a command without a NUL")
			}
		}
		if s.Cache == nil {
			continue
		}
		if len(s.Cache.Paths) == 0 {
			return fault.Invalid(at+".cache.paths", "must name a directory")
		}
		for j, p := range s.Cache.Paths {
			folder := strings.TrimSuffix(p, "/")
			if !strings.HasPrefix(folder, cacheRoot+"/") || path.Clean(folder) != folder || strings.ContainsRune(p, 0) {
				return fault.Invalid(element(at+".cache.paths", j), "must be an absolute path below %s without . or ..", cacheRoot)
			}
		}
		for j, f := range s.Cache.Files {
			if f == "" || strings.ContainsRune(f, 0) {
				return fault.Invalid(element(at+".cache.files", j), "must name a file")
			}
		}
	}
	return nil
}

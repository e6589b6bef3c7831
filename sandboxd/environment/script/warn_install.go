package script

import (
	"regexp"
	"slices"
	"strings"
)

// An installer is a way in which a program installs packages.
type installer struct {
	names []string // of the program
	verbs []string // that install
	// values are options whose value is the next word.
	values []string
	// pins are options that say which versions for all packages.
	pins []string
	// pinned reports whether an operand says which version; empty operands and
	// those that aren't wholly known never come here without a version.
	pinned func(operand string) bool
}

var installers = []installer{
	{
		names: []string{"pip"}, verbs: []string{"install"},
		values: []string{"-r", "--requirement", "-e", "--editable", "-t", "--target", "-i", "--index-url", "--extra-index-url", "--index", "--default-index",
			"-f", "--find-links", "--prefix", "--root", "--src", "-p", "--python", "--log", "--proxy", "--timeout", "--retries", "--trusted-host", "--cert",
			"--platform", "--python-version", "--python-platform", "--implementation", "--abi", "--only-binary", "--no-binary", "--upgrade-strategy",
			"-C", "--config-settings", "--progress-bar", "--cache-dir", "--group", "--extra", "--torch-backend"},
		pins:   []string{"-c", "--constraint", "--require-hashes"},
		pinned: pythonPinned,
	},
	{names: []string{"pipx", "pipenv"}, verbs: []string{"install"}, values: []string{"--python", "--index-url", "-i", "--pip-args", "--suffix"}, pinned: pythonPinned},
	{names: []string{"uv", "poetry", "pdm"}, verbs: []string{"add"}, values: []string{"--group", "-G", "--index", "--extra", "-E", "--python", "-p", "--source", "-r"}, pinned: pythonPinned},
	{names: []string{"uv-tool"}, verbs: []string{"install"}, values: []string{"--python", "-p", "--index", "--from"}, pinned: pythonPinned},
	{
		names: []string{"npm", "pnpm", "bun"}, verbs: []string{"install", "i", "in", "add"},
		values: []string{"--prefix", "-C", "--dir", "--registry", "-w", "--workspace", "--loglevel", "--cache", "--userconfig", "--omit", "--include", "--cwd"},
		pinned: nodePinned,
	},
	{names: []string{"yarn"}, verbs: []string{"add"}, values: []string{"--cwd", "--registry"}, pinned: nodePinned},
	{
		names: []string{"apt", "apt-get", "aptitude"}, verbs: []string{"install"},
		values: []string{"-t", "--target-release", "--default-release", "-o", "--option", "-c", "--config-file"},
		pinned: debianPinned,
	},
	{names: []string{"apk"}, verbs: []string{"add"}, values: []string{"-t", "--virtual", "-X", "--repository", "-p", "--root"}, pinned: alpinePinned},
	{names: []string{"dnf", "yum", "microdnf", "zypper"}, verbs: []string{"install"}, values: []string{"-c", "--releasever", "--installroot"}, pinned: rpmPinned},
	{names: []string{"gem"}, verbs: []string{"install"}, values: []string{"-i", "--install-dir", "-n", "--bindir", "-s", "--source"}, pins: []string{"-v", "--version"}, pinned: gemPinned},
	{names: []string{"cargo"}, verbs: []string{"install"}, values: []string{"--root", "-j", "--features", "-F", "--target", "--bin", "--registry", "--index", "--git", "--branch"},
		pins: []string{"--version", "--vers", "--rev", "--tag", "--path"}, pinned: atPinned},
	{names: []string{"go"}, verbs: []string{"install", "get"}, values: []string{"-tags", "-ldflags", "-o", "-C", "-p", "-mod"}, pinned: goPinned},
	{names: []string{"conda", "mamba", "micromamba"}, verbs: []string{"install", "create"}, values: []string{"-n", "--name", "-c", "--channel", "-p", "--prefix", "-f", "--file"}, pinned: condaPinned},
}

var (
	pipName    = regexp.MustCompile(`^pip3?(\.[0-9]+)?$`)
	pythonName = regexp.MustCompile(`^python3?(\.[0-9]+)?$`)
)

// install is about packages without a version.
func (l *linter) install(c call) {
	name, args := program(c)
	for _, in := range installers {
		if !slices.Contains(in.names, name) {
			continue
		}
		verb, rest := in.verb(args)
		if verb == "" {
			continue
		}
		if loose := in.loose(rest); loose != "" {
			l.warn(UnpinnedInstall, c.line, "installs "+shorten(loose)+" in whatever version is newest on the day; name the version")
		}
		return
	}
}

// shorten keeps a message readable, whatever a package is called.
func shorten(name string) string {
	const most = 60
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// program names a package manager that has several names, or that is a part
// of another program.
func program(c call) (string, []word) {
	switch {
	case pipName.MatchString(c.name):
		return "pip", c.args
	case pythonName.MatchString(c.name):
		if i := slices.IndexFunc(c.args, func(w word) bool { return w.text == "-m" }); i >= 0 && i+1 < len(c.args) && c.args[i+1].text == "pip" {
			return "pip", c.args[i+2:]
		}
	case c.name == "uv" && len(c.args) > 0 && c.args[0].text == "pip":
		return "pip", c.args[1:]
	case c.name == "uv" && len(c.args) > 0 && c.args[0].text == "tool":
		return "uv-tool", c.args[1:]
	case c.name == "yarn" && len(c.args) > 0 && c.args[0].text == "global":
		return "yarn", c.args[1:]
	}
	return c.name, c.args
}

// verb returns the verb and what follows it; options before it are passed over.
func (in installer) verb(args []word) (string, []word) {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case slices.Contains(in.values, text):
			i++
		case strings.HasPrefix(text, "-"):
		case slices.Contains(in.verbs, text):
			return text, args[i+1:]
		default:
			return "", nil
		}
	}
	return "", nil
}

// loose returns the first package without a version, or nothing.
func (in installer) loose(args []word) string {
	found := ""
	for i := 0; i < len(args); i++ {
		text := args[i].text
		option, _, _ := strings.Cut(text, "=")
		switch {
		case strings.HasPrefix(text, "-") && slices.Contains(in.pins, option):
			return ""
		case slices.Contains(in.values, text):
			i++
		case strings.HasPrefix(text, "-"), text == "", found != "", strings.Contains(text, expanded), in.pinned(text):
		default:
			found = text
		}
	}
	return found
}

var exact = regexp.MustCompile(`^v?[0-9][0-9A-Za-z.+_-]*$`)

// local reports whether an operand is a file or folder.
func local(s string, archives ...string) bool {
	return s == "." || s == ".." || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~/") ||
		strings.HasPrefix(s, "file:") || slices.ContainsFunc(archives, func(a string) bool { return strings.HasSuffix(s, a) })
}

func pythonPinned(s string) bool {
	if local(s, ".whl", ".tar.gz", ".zip") || strings.HasPrefix(s, ".[") {
		return true
	}
	if before, version, ok := strings.Cut(s, "=="); ok && before != "" {
		return strings.Trim(version, "=* ") != ""
	}
	if i := strings.Index(s, "git+"); i >= 0 {
		_, path, _ := strings.Cut(s[i:], "://")
		_, path, _ = strings.Cut(path, "/")
		return strings.Contains(path, "@")
	}
	if strings.Contains(s, "://") {
		return true
	}
	return atPinned(s)
}

// atPinned is NAME@VERSION.
func atPinned(s string) bool {
	i := strings.LastIndexByte(s, '@')
	return i > 0 && exact.MatchString(s[i+1:])
}

func nodePinned(s string) bool {
	switch {
	case local(s, ".tgz", ".tar.gz"), atPinned(s):
		return true
	case strings.Contains(s, "://") || strings.HasPrefix(s, "git@") || strings.HasPrefix(s, "github:"),
		strings.Contains(s, "/") && !strings.HasPrefix(s, "@"):
		return strings.Contains(s, "#") // a repository at a commit or tag
	}
	return false
}

func debianPinned(s string) bool {
	if local(s, ".deb") || strings.HasSuffix(s, "-") {
		return true // a file, or a package to take away
	}
	_, version, ok := strings.Cut(s, "=")
	return ok && strings.Trim(version, "*") != ""
}

func alpinePinned(s string) bool {
	i := strings.IndexAny(s, "=~")
	return local(s, ".apk") || i > 0 && !strings.ContainsAny(s[:i], "<>") && i+1 < len(s)
}

var rpmVersion = regexp.MustCompile(`-[0-9]`)

func rpmPinned(s string) bool { return local(s, ".rpm") || rpmVersion.MatchString(s) }

func gemPinned(s string) bool {
	_, version, ok := strings.Cut(s, ":")
	return local(s, ".gem") || ok && exact.MatchString(version)
}

func goPinned(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return !strings.Contains(strings.SplitN(s, "/", 2)[0], ".") || local(s) // of the module at hand
	}
	return !slices.Contains([]string{"latest", "upgrade", "patch", "main", "master", "HEAD"}, s[at+1:])
}

func condaPinned(s string) bool {
	i := strings.IndexByte(s, '=')
	return i > 0 && !strings.ContainsAny(s[:i], "<>!~") && strings.Trim(s[i:], "=*") != ""
}

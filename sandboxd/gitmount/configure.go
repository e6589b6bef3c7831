package gitmount

import (
	"context"
	"strings"
)

// readConfigScript prints the configuration of a repository, and nothing of
// what it includes; there may be none.
const readConfigScript = `if [ -f .git/config ]; then git config --file .git/config --no-includes --list -z; fi; :`

// writeConfigScript replaces the configuration, keeps the one before, and makes
// what git needs to take the directory for a repository.
const writeConfigScript = `set -e
mkdir -p .git/sallyport .git/objects .git/refs/heads .git/info .git/hooks
[ -e .git/HEAD ] || [ -L .git/HEAD ] || echo 'ref: refs/heads/main' > .git/HEAD
rm -rf .git/config.sallyport
cat > .git/config.sallyport
if ! cmp -s .git/config .git/config.sallyport; then
	if [ -e .git/config ] || [ -L .git/config ]; then
		rm -rf .git/sallyport/config
		mv .git/config .git/sallyport/config
	fi
fi
mv -f .git/config.sallyport .git/config
printf '/%s\n' .managed-agents .sallyport .venv > .git/sallyport/exclude
rm -rf .git/info/exclude
cp .git/sallyport/exclude .git/info/exclude`

// configure gives the repository, a new one or one that an agent has had, a
// configuration that leads git nowhere else (ledger GB-17): its origin is the
// mount's URL, and of what was there only keptKey remains.
func (s staging) configure(ctx context.Context) error {
	listed, err := s.shell(ctx, readConfigScript, "")
	if err != nil {
		return err
	}
	_, err = s.shell(ctx, writeConfigScript, config(s.mount.URL(), listed))
	return err
}

// config renders a configuration. Listed is another one, as "git config -z
// --list" prints it.
func config(url, listed string) string {
	var b strings.Builder
	b.WriteString("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n")
	b.WriteString("[remote \"origin\"]\n\turl = " + quoted(url) + "\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n")
	for entry := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		key, value, found := strings.Cut(entry, "\n")
		section, name := key, ""
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			section, name = key[:i], key[i+1:]
		}
		if !found || !keptKey(section, name) {
			continue
		}
		section, sub, within := strings.Cut(section, ".")
		b.WriteString("[" + section)
		if within {
			b.WriteString(" " + quoted(sub))
		}
		b.WriteString("]\n\t" + name + " = " + quoted(value) + "\n")
	}
	return b.String()
}

// keptKey reports whether a setting of a repository stays: names, trailers and
// hooks of commits, which branch follows which, and that the repository lacks
// objects on purpose.
func keptKey(section, name string) bool {
	switch section {
	case "user", "author", "committer":
		return name == "name" || name == "email"
	case "sallyport":
		return name == "trailer"
	case "core":
		return name == "hookspath"
	case "remote.origin":
		return name == "promisor" || name == "partialclonefilter"
	}
	return strings.HasPrefix(section, "branch.") && (name == "remote" || name == "merge" || name == "rebase")
}

// quoted returns a value or a subsection as git-config(1) reads it.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

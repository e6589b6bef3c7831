package authorship

import (
	_ "embed"
	"path"
)

// HooksPath is the directory of the hooks in a sandbox. It belongs to its root.
const HooksPath = "/opt/sallyport/hooks"

// hook is the program behind every hook: it tells by its name which it is.
//
//go:embed hook.sh
var hook []byte

// hooks are the hooks of githooks(5) that git runs from core.hooksPath. Two
// aren't there, since they do something by being there: push-to-checkout and
// proc-receive.
var hooks = []string{
	"applypatch-msg", "commit-msg", "post-applypatch", "post-checkout", "post-commit", "post-index-change", "post-merge",
	"post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit",
	"pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "reference-transaction", "sendemail-validate", "update",
}

// Files returns the hooks, executable POSIX shell, by their path in the
// sandbox. They are to be owned by its root. The caller must not change them.
func Files() map[string][]byte {
	files := map[string][]byte{}
	for _, name := range hooks {
		files[path.Join(HooksPath, name)] = hook
	}
	return files
}

// Settings are the git configuration, key and value, that every command of a
// sandbox with the hooks has in its environment: so they stay in force when a
// tool sets core.hooksPath of a repository, whose hooks they then run.
func Settings() map[string]string { return map[string]string{hooksKey: HooksPath} }

const (
	hooksKey   = "core.hooksPath"
	trailerKey = "sallyport.trailer"
)

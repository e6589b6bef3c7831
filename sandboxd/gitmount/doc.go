// Package gitmount puts git checkouts into sandboxes and brings them up to
// date.
//
// [Compile] checks what a session asks for and resolves the templates in refs,
// before any sandbox exists, and [Workdir] says where commands will begin.
// [Authorise] returns the grants that the boundary is to hold for the mounts, if
// the project has them. Once the sandbox runs, [Verify] proves that git has its
// credentials, [Stage] makes each directory what was asked for, and
// [CheckWorkdir] looks at where commands begin. Whoever starts sessions calls
// them in this order; commits get their names from package authorship
// afterwards.
//
// Staging reconciles, it doesn't clone: a directory that exists is reused, so a
// resume fetches only what is new. What an agent did there and hasn't pushed is
// put under a ref first ([Saved]), in the form that "git stash apply" takes; a
// staging that fails leaves the directory as it was.
//
// git runs inside the sandbox, as its user, and asks the sandbox's own
// credential helper as any command there does. So no token is in an argument, a
// variable or a file, and none passes through this package.
//
// Security promise: nothing that a repository or an agent left in the
// directory makes staging run a program, use a protocol but HTTPS, or follow a
// link out of the directory; hooks, fsmonitor, filters, replaced objects and the
// configuration of the user don't count. What this can't promise: an agent that
// still runs while its directory is staged can change it again.
package gitmount

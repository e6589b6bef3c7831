package gitmount

import "fmt"

// Code is the platform's name for a fault, which the API passes on.
type Code string

// The codes of this package. The first two are of what was asked for and come
// before any sandbox exists.
const (
	CodeInvalid    Code = "invalid_git_mount"
	CodeUnresolved Code = "ref_template_unresolved"
	// CodeNotGranted: the project, or the boundary, doesn't grant the repository.
	CodeNotGranted Code = "repository_not_granted"
	// CodeAuth: a credential couldn't be had, or the forge refused it.
	CodeAuth Code = "git_auth_unavailable"
	// CodeRef: the repository has no such ref.
	CodeRef Code = "git_ref_not_found"
	// CodeUnreachable: the network policy, the network or the forge's server is
	// in the way.
	CodeUnreachable Code = "git_unreachable"
	// CodePath: the directory can't be used as a mount.
	CodePath Code = "git_mount_path"
	// CodeTool: the image lacks git or git-lfs.
	CodeTool Code = "git_missing"
	// CodeFailed: anything else.
	CodeFailed Code = "git_mount_failed"
)

// DocumentError says what is wrong with a mount and where: Path is a JSON path
// such as "git_mounts[1].ref". Code is CodeInvalid or CodeUnresolved.
type DocumentError struct {
	Code Code
	Path string
	Msg  string
}

func (e *DocumentError) Error() string { return e.Path + ": " + e.Msg }

// Step is where a mount's staging failed.
type Step string

// The steps, in order.
const (
	StepAuthorise  Step = "authorise"
	StepPrepare    Step = "prepare"
	StepFetch      Step = "fetch"
	StepSave       Step = "save"
	StepCheckout   Step = "checkout"
	StepLFS        Step = "lfs"
	StepSubmodules Step = "submodules"
	StepClean      Step = "clean"
	StepRestore    Step = "restore"
	StepWorkdir    Step = "working directory"
)

// Error says which mount couldn't be staged, and why.
type Error struct {
	Code  Code
	Mount string // its directory
	URL   string // of its repository; empty if it isn't about one
	Step  Step
	// Message says what is wrong and what to do. It is ours, and fit for
	// anybody who may see the session.
	Message string
	// Detail is what git said, one printable line, for the log: a repository
	// chooses some of it. It holds no credential. It may be empty.
	Detail string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: mount %s: %s: %s", e.Code, e.Mount, e.Step, e.Message)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

func (m Mount) fail(code Code, step Step, message, detail string) *Error {
	return &Error{Code: code, Mount: m.Path, URL: m.URL(), Step: step, Message: message, Detail: detail}
}

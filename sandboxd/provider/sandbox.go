package provider

import (
	"context"
	"io"
	"os"
	"time"
)

// Spec says what one sandbox is. ID, Network and Image are required.
type Spec struct {
	ID      string // 1 to 63 of a-z, 0-9 and inner hyphens; no two live sandboxes share one
	Network Network
	Image   Image
	// DiskBytes bounds all that the sandbox writes: its workspace, its home and
	// what it installs. Writes past it fail for lack of space. Zero means as
	// much as the machine has.
	DiskBytes int64
	// Files are placed in the root before anything runs, by absolute path,
	// owned by root. They are the caller's, not the sandbox's: a capture leaves
	// them out.
	Files  map[string]File
	Limits Limits
}

// Image is what a sandbox's root consists of before it writes anything.
type Image struct {
	// Host puts the machine's own programs, read-only, below the layers.
	Host bool
	// Layers are keys, lowest first.
	Layers []string
}

// File is a file to place in a sandbox.
type File struct {
	Data []byte
	Mode os.FileMode
}

// Limits of one sandbox; zero means no limit of that kind, except that there
// are never more than 4096 processes by default.
type Limits struct {
	CPUs        float64
	MemoryBytes int64
	Processes   int64
}

// Sandbox is a running sandbox. It is safe for concurrent use.
type Sandbox interface {
	ID() string
	// Done is closed when the sandbox has ended, whatever the reason.
	Done() <-chan struct{}
	// Exec starts a command. ctx bounds only the start. A command that doesn't
	// exist or can't run is no error: it ends at once, with a code of 127 or
	// 126 and a Reason.
	Exec(ctx context.Context, e Exec) (Process, error)
	// Capture ends every process and offers what was written as a layer. Stop
	// is still needed, after the layer was kept or given up.
	Capture(ctx context.Context) (Written, error)
	// Stop ends every process and removes all that belongs to the sandbox.
	// Stopping twice is no error; after an error it can be tried again.
	Stop(ctx context.Context) error
}

// Exec says what to run. Argv is required and looked up in Env's PATH.
type Exec struct {
	Argv []string
	Env  []string // KEY=VALUE, complete
	Dir  string   // empty means /workspace
	User string   // "user" (uid 1000, the default) or "root" of the sandbox

	// Stdin, Stdout and Stderr are copied, but for pipes of root, which are
	// handed to the command; no other descriptor of the host gets into a
	// sandbox. nil means /dev/null.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// TTY gives the command a terminal of its own, of the given size, whose
	// output arrives at Stdout.
	TTY        bool
	Rows, Cols uint16
}

// Process is a command in a sandbox. It is safe for concurrent use.
type Process interface {
	// Wait returns how the command ended, once its output has been copied. A
	// ctx that ends first ends only the waiting. Error: ErrLost.
	Wait(ctx context.Context) (Exit, error)
	// Signal signals the command's process group; to one that has ended it does
	// nothing.
	Signal(sig os.Signal) error
	// Resize sets the size of the command's terminal.
	Resize(rows, cols uint16) error
}

// Exit is how a command ended. Code is what a shell would report: 128+n for
// signal n, 127 for a command that doesn't exist, 126 for one that can't run.
type Exit struct {
	Code     int
	Signal   os.Signal // nil unless it ended by a signal
	OOM      bool      // the sandbox's memory limit killed it
	Reason   string    // why it could not start; empty when it did
	Duration time.Duration
}

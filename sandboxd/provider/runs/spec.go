package runs

import (
	"io"
	"os"
	"time"
)

// ProxyAddr is where, inside every sandbox, the edge's proxy listener is.
const ProxyAddr = "127.0.0.1:3128"

// BrokerAddr is where, inside every sandbox, the broker's listener is; "@"
// stands for the NUL of an abstract name.
const BrokerAddr = "@sallyport/broker"

// Config of a Provider. StateDir is required: a directory of the caller's, in
// which each sandbox has a directory of its own.
type Config struct {
	StateDir string
	// Init is the path of the program that runs as process 1 of a sandbox;
	// empty means the one that is embedded.
	Init string
}

// Nameserver is what /etc/resolv.conf of a sandbox names. Any address would
// do: port 53 of all of them arrives at Network.DNS.
const Nameserver = "192.0.2.53"

// Spec says what one sandbox is. ID and Network are required.
type Spec struct {
	ID      string
	Network *Network
	// Image is "host" (the host's /usr, read-only, on an otherwise empty
	// root), a directory, or a tar file. Empty means host.
	Image string
	// Workspace is a host directory mounted read-write at /workspace; empty
	// means one of the sandbox's own, discarded with it.
	Workspace string
	// Files are written into the sandbox's root before it starts, by absolute
	// path, owned by root, for example the CA bundle.
	Files  map[string]File
	Limits Limits
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

// Exit is how a command ended. Code is what a shell would report: 128+n for
// signal n, 127 for a command that doesn't exist, 126 for one that can't run.
type Exit struct {
	Code     int
	Signal   os.Signal // nil unless it ended by a signal
	OOM      bool      // the sandbox's memory limit killed it
	Reason   string    // why it could not start; empty when it did
	Duration time.Duration
}

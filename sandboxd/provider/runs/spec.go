package runs

import "github.com/sallyport/sallyport/sandboxd/provider"

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

// NoBase is the Spec.Image of a sandbox whose root is its layers alone.
const NoBase = "none"

// Spec says what one sandbox is. ID and Network are required.
type Spec struct {
	ID      string
	Network *Network
	// Image is "host" (the host's /usr, read-only, on an otherwise empty
	// root), a directory, a tar file, or NoBase. Empty means host.
	Image string
	// Layers are keys of layers on top of the image, lowest first.
	Layers []string
	// Workspace is a host directory mounted read-write at /workspace; empty
	// means one of the sandbox's own, discarded with it.
	Workspace string
	// DiskBytes bounds all that the sandbox writes into its root, at least
	// MinDisk. Zero means that only the host's disk does. An ordinary user has
	// no such bound: see Degraded.
	DiskBytes int64
	// Files are written into the sandbox's root before it starts, by absolute
	// path, owned by root, for example the CA bundle. A capture leaves them out.
	Files  map[string]File
	Limits Limits
}

// These are the contract's own.
type (
	// File is a file to place in a sandbox.
	File = provider.File
	// Limits of one sandbox.
	Limits = provider.Limits
	// Exec says what to run.
	Exec = provider.Exec
	// Exit is how a command ended.
	Exit = provider.Exit
)

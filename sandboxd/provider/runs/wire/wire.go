// Package wire is what the provider and the init of a sandbox say to each
// other over a SEQPACKET socket pair: one [Message] a packet, both ways.
//
// The bodies of [Setup] and [Exec] are as long as a command line may be, so
// they don't travel in the packet but in a memory file that goes along as its
// first descriptor.
//
// Both ends are built from the same source, so there are no versions. The
// provider trusts nothing that it decodes: every length is bounded and a packet
// that doesn't end where it should is an error. The package imports little, to
// keep the init small.
package wire

// MaxPacket is the longest packet that either end sends.
const MaxPacket = 4096

// MaxText is the longest Text of a Message; longer ones are cut.
const MaxText = 1024

// Kind says what a Message is.
type Kind byte

// From the provider: KindSetup comes first and once.
const (
	KindSetup  Kind = 1 + iota // descriptors: the body, then one a mount
	KindExec                   // descriptors: the body, then stdin, stdout and stderr unless it has a terminal
	KindSignal                 // Value is the signal
)

// From the init. KindReady or KindFailed answers KindSetup, KindStarted or
// KindRefused answers KindExec, and KindExited follows KindStarted.
const (
	KindReady   Kind = 65 + iota
	KindFailed       // Text says why
	KindStarted      // descriptor: the terminal's master, if there is one
	KindRefused      // Value is 126 or 127, Text says why
	KindExited       // Value is the wait status
)

// Message is one packet.
type Message struct {
	Kind  Kind
	ID    uint32 // of the command; zero for the sandbox
	Value uint32
	Text  string
}

// Setup describes the sandbox to its init.
type Setup struct {
	Hostname string
	Mounts   []Mount
	Entries  []Entry
	// Filter is the seccomp program, as the kernel takes it.
	Filter []byte
	// Capabilities are the bits that root of the sandbox keeps.
	Capabilities uint64
	// ShmBytes is the size of /dev/shm.
	ShmBytes uint64
	// OneID says that only the user is mapped, so that the init runs as it.
	OneID bool
}

// Mount is a prepared mount whose descriptor goes along in the same order. The
// first one is the root.
type Mount struct {
	Target string
	File   bool // it covers a file, not a directory
}

// EntryKind says what an Entry is.
type EntryKind byte

// The kinds of entries. A directory that exists is left as it is; a file or
// link is replaced, except that FileIfAbsent isn't.
const (
	Dir EntryKind = 1 + iota
	File
	FileIfAbsent
	Link
)

// Entry is something to create in the sandbox's root, parents included.
type Entry struct {
	Kind EntryKind
	Path string
	Mode uint32 // permission bits
	ID   uint32 // its owner and group
	Data []byte // of a file; the target of a link
}

// Exec is a command to run.
type Exec struct {
	Argv, Env  []string
	Dir        string
	ID         uint32 // user and group to run as
	TTY        bool
	Rows, Cols uint16
}

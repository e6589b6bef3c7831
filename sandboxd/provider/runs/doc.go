// Package runs isolates sandboxes with Linux namespaces: user, mount, pid,
// network, ipc and uts, a cgroup, a seccomp filter, and a network that
// consists of loopback and three listening sockets.
//
// [New] returns a [Provider]; [Provider.Check] says what this machine lacks.
// A sandbox is made in two steps, so that its boundary is open before anything
// runs: [Provider.Network] prepares the network namespace and returns the
// sockets for the edge, then [Provider.Start] starts the init inside it and
// [Sandbox.Exec] runs commands.
//
// [Provider.Reap] belongs at the start of a program: it removes what a crash left.
// An ordinary user calls [EnterUserNamespace] before all else.
//
// The package knows nothing of policies or proxies, only of sockets that it
// hands out.
//
// # How a sandbox is made
//
// Start clones a small init (folder sbinit, embedded) into fresh namespaces on
// a thread that is in the prepared network. That network belongs to the
// caller's user namespace and the sandbox lives in another, so its root can't
// touch the rules. Its root file system is an overlay whose layers are
// detached, id-mapped mounts, handed over by descriptor: layers on disk hold
// ids from 0 whatever range the sandbox has. The init puts the mounts in
// place, leaves the host's root, gives up capabilities, installs a seccomp
// filter, says that it is ready, and then starts commands on request (folder
// wire). When its socket closes it exits, and the kernel kills the rest.
//
// # Security promise
//
// A sandbox has no interface but loopback, no route but to loopback, and no
// capability over the namespace that holds its rules; sockets that no
// namespace confines (AF_VSOCK above all) can't be made. When the process that
// holds the listeners is gone, nothing gets out. Of the host's files it sees
// what anybody on the host may read of /usr and of a list of files in /etc, and
// the workspace that it is given. It isolates processes, not a fault of the
// kernel.
package runs

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
// The package knows nothing of policies or proxies, only of sockets that it
// hands out.
//
// Security promise: a sandbox has no interface but loopback, no route, and no
// capability over the namespace that holds its rules; when the process that
// holds the listeners is gone, nothing gets out. What a crash left behind is
// removed by [Provider.Reap].
package runs

// Package provider is the contract between sandboxd and whatever isolates a
// sandbox. Folder runs is the implementation with Linux namespaces; folder
// providertest is the suite that every implementation passes.
//
// A sandbox is made in two steps, so that its boundary is open before anything
// runs: Provider.Network opens sockets inside a network that leads nowhere
// else, the caller gives them to the edge, and Provider.Start starts the
// sandbox in that network. What a sandbox wrote can become a layer
// (Sandbox.Capture), and a stack of layers is the image that others start from.
//
// A provider isolates. It knows nothing of policies, proxies or environments,
// and a fault of its own is an error that says what to do, never a weaker
// sandbox: what a machine can't enforce is in Description.Degraded before
// anything is started.
package provider

// Package image knows the root file systems that sandboxes start from: the
// host's own, the runner image, and what setup runs captured.
//
// An image is a stack of layers, each named by its content. NewKeeper returns a
// Keeper of one provider's images: Resolve finds what a sandbox starts on,
// Capture makes an image of what a setup run wrote, Collect removes what nothing
// refers to. The provider keeps the layers themselves, Records what is known of
// them.
//
// Security promise: a capture that finds a credential, a placeholder or a token
// fails before any sandbox can start from it, and nothing of it is kept.
package image

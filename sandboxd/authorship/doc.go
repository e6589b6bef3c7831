// Package authorship says who commits in a sandbox, and puts it there.
//
// [Resolve] decides on an [Identity] from the agent that commits and the one
// who asked for the work. [Apply] writes it into a checkout's configuration,
// where git takes author, committer and trailers from. The hooks ([Files], at
// [HooksPath], with [Settings] in the environment of every command) stamp the
// trailers, and run whatever hooks the repository has of its own. Whoever starts
// sessions calls them, after the checkouts are staged.
//
// Security promise: nobody becomes the author of a commit but a person whom
// the operator's directory knows as verified, and only when the platform itself
// knows that the request is theirs. It is attribution, not proof: an agent can
// commit with other tools.
package authorship

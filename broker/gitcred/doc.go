// Package gitcred is the sandbox's end of the broker: git's credential helper
// protocol on one side (gitcredentials(7), git-credential(1)), the broker's
// socket on the other.
//
// [Run] is the whole helper. [ReadRequest] and [Answer.Append] are the two
// halves of git's protocol, as git 2.30 to 2.50 speak it; [Client] asks the
// broker with the wire types of this package, which the edge decodes.
//
// The helper decides nothing about repositories: it passes on what git asked
// for, and the broker, which knows the sandbox by the socket (decision 26),
// answers or refuses. The package stands on the standard library alone, because
// it is linked into a program that every sandbox gets.
//
// Security promise: a request with anything odd in it is never answered, and an
// answer that could be read as two is never written.
package gitcred

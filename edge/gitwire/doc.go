// Package gitwire reads git's smart HTTP as it passes the edge: which endpoint
// of which repository a request is for ([ParseEndpoint]), what a push would
// change ([ReadPush]), whether its pack proves a fast-forward ([ReadPack]), and
// which way an LFS batch goes ([ReadBatch]). It writes the two answers with
// which git prints a reason: [Advertisement] and [Push.Report].
//
// It is pure: it reads what it is given, keeps nothing, and judges nothing
// about repositories or refs; package edge asks it and broker's rules judge.
//
// Security promise: what can be read in two ways is an error. Every error means
// that the request must not pass.
package gitwire

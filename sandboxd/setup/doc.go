// Package setup runs setup scripts: fresh compute, the script, checks, a
// captured image, and a record of all of it that an author can act on.
//
// NewRunner returns a Runner, whose Serve owns every run. Start accepts one,
// Cancel ends it, Get and Log read it and can wait for news. A Run goes through
// its phases once and never changes after it has ended; what a restart of the
// program interrupted is ended by Serve.
//
// Folder trace makes a script say which of its lines is about to run, folder
// hint recognises why a script failed.
//
// The package starts compute through package provider and knows nothing of
// HTTP. Records keeps its runs, Boundaries opens the way out, Images finds what
// a run starts on and keeps what it made.
//
// Security promise: a run's boundary is open before anything of it runs and
// closes after all of it has ended; nothing that a script printed is stored or
// returned before it was redacted.
package setup

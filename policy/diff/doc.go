// Package diff says what changes for all hosts when one policy replaces
// another.
//
// [Compare] lists what becomes reachable and what stops, rule by rule, each
// with a host that shows it; that nothing else changes is proved (package
// hostlang). [Radius] says what that means for secrets and repositories. The
// package does no I/O; it is called by the operator's tools.
package diff

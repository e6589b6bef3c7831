// Package lint finds what is probably not meant in a policy that is valid.
//
// [Check] reasons about all hosts (package hostlang): that a rule is
// unreachable is proved, also where only several earlier rules together hide
// it, and each finding that is about hosts names one. The package does no I/O;
// it is called by the operator's tools and never by the edge.
package lint

// Package environment is the definition that sandboxes are made from: what an
// author may write, what it means, when it has been verified.
//
// It is pure: no store, no clock, no provider. The API decodes into Definition
// and Patch, Validate says whether a definition can be saved, Fingerprint
// whether two would set up alike, and Verify what the recorded runs say about
// the current one. The package docs of policy say what a network policy means;
// this package only stores it.
//
// Folder script reads setup scripts: normal form, warnings. Folder template has
// the scripts to start from.
package environment

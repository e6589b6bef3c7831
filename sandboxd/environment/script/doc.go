// Package script reads setup scripts: their normal form, the commands that
// stand on each line, and advice about risky lines.
//
// Scripts are parsed as Bash, never searched as text, so comments, heredocs and
// quoted words are told apart from commands. A script that doesn't parse is
// read as far as it does: only Bash itself can say that it is wrong. Nothing is
// run or expanded, and the package does no I/O.
package script

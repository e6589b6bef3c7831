// Package hostlang reasons exactly about all hosts that policies decide on.
//
// The hosts that a glob matches are a regular language over canonical hosts,
// so questions about every host there is have an answer: is there one that
// this rule decides; is there one that the old policy denied and the new one
// allows? A [Space] holds the automata of one or more documents; [Space.Find]
// answers one question with a shortest witness, and [Space.Outcomes] lists
// each combination of deciding rules that some host has.
//
//	space, err := hostlang.New(before, after)
//	h, found, err := space.Find(space.Verdict(0, policy.Deny), space.Verdict(1, policy.Allow))
//
// # How
//
// Names are read from right to left, as globs are anchored, by all patterns at
// once (a subset construction made as it is walked). A pattern that is sure to
// match from here on takes all later rules of its document with it, which
// keeps the states few: 200 rules of the usual forms take a few milliseconds.
// What a canonical name may be is part of the walk: label and name lengths,
// hyphens, no number at the end. Addresses are finitely many cases: each that
// a rule names, and one that none does.
//
// Whether a label that begins with "xn--" is canonical is no regular property.
// Words with such labels count only if a rule spells the label or it is one of
// a sample; where those words alone could decide, and none of the sample does,
// the answer is [ErrUndecided] and never a guess.
//
// # Promise
//
// The package decides nothing: each witness is confirmed by
// [policy.Policy.Decide], the code that enforces, and a disagreement is an
// error. "There is none" is exact. The work is bounded; a question that is too
// much answers [ErrTooComplex].
package hostlang

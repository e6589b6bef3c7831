// Package verdict says whether an environment's setup script has passed for its
// present configuration, and what that means for the start of a session.
//
// It is pure: the caller brings the definition, the recorded runs and the state
// of the image. The API shows a Verdict, and whoever starts sessions asks Gate.
//
// Security promise: what isn't known counts against a start. An unknown image,
// a missing run and a configuration that wasn't tested all refuse.
package verdict

package script

// NotStarted is the advice that a setup run, asked for with a save, did not
// start; reason is a clause for people. The save itself succeeded.
func NotStarted(reason string) Warning {
	return Warning{Code: VerifyNotStarted, Message: "the save succeeded, but its setup run didn't start: " + reason}
}

// Discarded is the advice that a saved setup was of a format that no longer
// runs.
func Discarded() Warning {
	return Warning{Code: LegacySetupDiscarded, Message: "the saved setup was in an old format that no longer runs; enter it again as a script"}
}

package gitcred

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// authtype is the capability with which git (since 2.46) reads "ephemeral".
const authtype = "authtype"

// Answer is what git is told. The zero Answer says nothing at all: git asks the
// next helper.
type Answer struct {
	Username string
	Password string
	Expires  time.Time // zero: not said
	// Ephemeral asks git, where it announced authtype, that no other helper
	// stores the password.
	Ephemeral bool
	// Quit ends git's search: no further helper, no prompt.
	Quit bool
}

var errTwoLines = errors.New("a value of the answer would end its line")

// Append appends the answer as git reads it. It returns an error, and no
// answer, if a value can't be one line.
//
// The form is username and password even where git would take authtype and
// credential: a git that is given both sends both.
func (a Answer) Append(b []byte) ([]byte, error) {
	if strings.ContainsFunc(a.Username+a.Password, isControl) {
		return nil, errTwoLines
	}
	line := func(key, value string) { b = append(append(append(append(b, key...), '='), value...), '\n') }
	if a.Password != "" {
		if a.Ephemeral {
			line("capability[]", authtype)
			line("ephemeral", "1")
		}
		line("username", a.Username)
		line("password", a.Password)
		if !a.Expires.IsZero() {
			line("password_expiry_utc", strconv.FormatInt(a.Expires.Unix(), 10))
		}
	}
	if a.Quit {
		line("quit", "1")
	}
	return b, nil
}

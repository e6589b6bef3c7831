package authorship

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is the longest name or email in bytes.
const maxText = 200

// Person is a name and an email, as git has them. Both are required.
type Person struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// String returns "Name <email>".
func (p Person) String() string { return p.Name + " <" + p.Email + ">" }

// Check says whether git takes the person as written, in one line of a commit
// (ledger GB-31).
func (p Person) Check() error {
	if err := checkText(p.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	if err := checkText(p.Email); err != nil {
		return fmt.Errorf("email: %w", err)
	}
	if strings.ContainsRune(p.Email, ' ') || strings.Count(p.Email, "@") != 1 ||
		strings.HasPrefix(p.Email, "@") || strings.HasSuffix(p.Email, "@") {
		return errors.New("email: expected one of the form user@host")
	}
	return nil
}

func checkText(s string) error {
	switch {
	case len(s) > maxText:
		return fmt.Errorf("expected at most %d bytes", maxText)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, notInText):
		return errors.New("expected printable characters without < and >")
	case !strings.ContainsFunc(s, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
		return errors.New("expected a letter or a digit")
	case strings.Trim(s, crud) != s:
		return errors.New("expected no space or punctuation at the ends but a full stop")
	}
	return nil
}

// crud is what git strips from the ends of names (ident.c of git 2.39), but for
// the full stop of "Jr.", which it strips silently and harmlessly.
const crud = " ,:;<>\"\\'"

func notInText(c rune) bool { return !unicode.IsPrint(c) || c == '<' || c == '>' }

package gitmount

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// head is the ref of the default branch.
const head = "HEAD"

const maxRef = 250 // bytes; a file of that name must fit below .git/refs

var (
	template = regexp.MustCompile(`\{\{[^{}]*\}\}`)
	token    = regexp.MustCompile(`^\{\{\s*payload((?:\.[A-Za-z0-9_-]+)+)\s*\}\}$`)
	commitID = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
)

// resolveRef puts values of the payload, a decoded JSON value, in the place of
// {{payload.a.b}} (ledger GB-19). A value isn't looked at for templates again.
func resolveRef(text string, payload any) (string, *DocumentError) {
	if text == "" {
		return head, nil
	}
	var fault *DocumentError
	ref := template.ReplaceAllStringFunc(text, func(t string) string {
		value, err := lookUp(t, payload)
		if err != nil && fault == nil {
			fault = &DocumentError{CodeUnresolved, "ref", fmt.Sprintf("%s: %s", t, err)}
		}
		return value
	})
	if fault != nil {
		return "", fault
	}
	if strings.Contains(template.ReplaceAllString(text, ""), "{{") {
		return "", &DocumentError{CodeUnresolved, "ref", "expected {{payload.NAME}}"}
	}
	return ref, nil
}

func lookUp(t string, payload any) (string, error) {
	parts := token.FindStringSubmatch(t)
	if parts == nil {
		return "", errors.New("expected {{payload.NAME}} or {{payload.NAME.NAME}}")
	}
	value := payload
	for name := range strings.SplitSeq(parts[1][1:], ".") {
		object, isObject := value.(map[string]any)
		if !isObject {
			return "", errors.New("the session's input has no such value")
		}
		var found bool
		if value, found = object[name]; !found {
			return "", errors.New("the session's input has no such value")
		}
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return v.String(), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatFloat(v, 'f', 0, 64), nil
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return "", errors.New("the value isn't a string, a number or a boolean")
}

// checkRef accepts HEAD, a whole commit id, and what git-check-ref-format(1)
// accepts with --allow-onelevel, without what fetch would read as something
// else: a leading "-" or "+" (ledger GB-20).
func checkRef(ref string) error {
	switch {
	case ref == head || commitID.MatchString(ref):
		return nil
	case ref == "":
		return errors.New("expected a branch, a tag or a commit id")
	case len(ref) > maxRef:
		return fmt.Errorf("expected at most %d bytes", maxRef)
	case !utf8.ValidString(ref) || strings.ContainsFunc(ref, notInRef):
		return errors.New("expected no space, control character or any of ~^:?*[\\")
	case ref[0] == '-' || ref[0] == '+':
		return errors.New("expected no - or + at the start")
	case ref == "@" || strings.Contains(ref, "@{") || strings.Contains(ref, ".."):
		return errors.New("expected the name of one ref")
	case strings.HasSuffix(ref, "."):
		return errors.New("expected no dot at the end")
	}
	for part := range strings.SplitSeq(ref, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return errors.New("expected parts between slashes that aren't empty, begin with a dot or end in .lock")
		}
	}
	return nil
}

func notInRef(c rune) bool { return !unicode.IsPrint(c) || strings.ContainsRune(" ~^:?*[\\", c) }

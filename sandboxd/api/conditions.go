package api

import (
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/sandboxd"
	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// condition reads an If-Match header (RFC 9110 §13.1.1). A tag that no revision
// ever had, weak ones included, matches nothing; "*" matches whatever is there.
func condition(header string) (sandboxd.Condition, error) {
	header = strings.TrimSpace(header)
	if header == "" || header == "*" {
		return sandboxd.Condition{}, nil
	}
	c := sandboxd.Condition{Set: true}
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimSpace(tag)
		strong, weak := strings.CutPrefix(tag, "W/")
		if len(strong) < 2 || strong[0] != '"' || strong[len(strong)-1] != '"' {
			return c, fault.Invalid("If-Match", `must be an ETag in quotes, such as "3"`)
		}
		revision, err := strconv.ParseInt(strong[1:len(strong)-1], 10, 64)
		if err == nil && !weak && etag(revision) == strong {
			c.Revisions = append(c.Revisions, revision)
		}
	}
	return c, nil
}

// maxKey bounds an Idempotency-Key.
const maxKey = 255

// retry reads an Idempotency-Key. The user belongs to the request: somebody
// else with the same key asks for something else.
func retry(key, operation string, c account.Caller, parts ...[]byte) (sandboxd.Retry, error) {
	if len(key) > maxKey || strings.IndexFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		return sandboxd.Retry{}, fault.Invalid("Idempotency-Key", "must have at most %d printable ASCII characters", maxKey)
	}
	return sandboxd.NewRetry(key, append([][]byte{[]byte(operation), []byte(c.UserID)}, parts...)...), nil
}

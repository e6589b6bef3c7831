package inject

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// signedByAWS is how an Authorization header begins that was signed by AWS's
// schemes, whichever it is.
const signedByAWS = "AWS4-"

// credentialParam names, in a presigned URL, the key that signed it.
const credentialParam = "X-Amz-Credential"

// credentialsIn takes the parameters apart that name the key of a presigned
// URL, where one is bound. Without such a binding, query is the whole.
func credentialsIn(r *http.Request, bindings []*bound) (query string, credentials []string) {
	if r.URL == nil {
		return "", nil
	}
	query = r.URL.RawQuery
	if !slices.ContainsFunc(bindings, func(b *bound) bool { return b.kind == KindAWS }) {
		return query, nil
	}
	var rest []string
	for param := range strings.SplitSeq(query, "&") {
		if isCredential(param) {
			credentials = append(credentials, param)
		} else {
			rest = append(rest, param)
		}
	}
	return strings.Join(rest, "&"), credentials
}

func isCredential(param string) bool {
	key, _, _ := strings.Cut(param, "=")
	name, err := url.QueryUnescape(key)
	return err == nil && name == credentialParam
}

// signedFor reports whether r carries a signature that names the placeholder of
// b, or the placeholder in some other way where the signature would be.
func (b *bound) signedFor(r *http.Request) bool {
	if strings.Contains(first(r.Header[b.header]), b.placeholder) {
		return true
	}
	_, credentials := credentialsIn(r, []*bound{b})
	return slices.ContainsFunc(credentials, func(param string) bool { return strings.Contains(param, b.placeholder) })
}

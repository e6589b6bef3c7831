package sigv4

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	ending    = "aws4_request"
	dateForm  = "20060102T150405Z"

	headerAuthorization = "Authorization"
	headerDate          = "X-Amz-Date"
	headerToken         = "X-Amz-Security-Token"
	headerContent       = "X-Amz-Content-Sha256"

	paramAlgorithm  = "X-Amz-Algorithm"
	paramCredential = "X-Amz-Credential"
	paramDate       = "X-Amz-Date"
	paramHeaders    = "X-Amz-SignedHeaders"
	paramSignature  = "X-Amz-Signature"
	paramToken      = "X-Amz-Security-Token"
)

// claim is what a client's signature says.
type claim struct {
	presigned bool
	keyID     string
	date      time.Time
	region    string
	service   string
	headers   []string // signed, canonical names, without Host
}

// claimOf takes the client's signature off r, in its header or its URL.
func claimOf(r *http.Request) (*claim, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse("the query can be read in more than one way")
	}
	inHeader := len(r.Header[headerAuthorization]) > 0
	inQuery := query.Has(paramCredential) || query.Has(paramSignature) || query.Has(paramAlgorithm)
	switch {
	case inHeader && inQuery:
		return nil, refuse("in the header and in the URL")
	case inHeader:
		return claimInHeader(r, query)
	default:
		return claimInQuery(r, query)
	}
}

// claimInHeader reads "AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…,
// Signature=…".
func claimInHeader(r *http.Request, query url.Values) (*claim, error) {
	scheme, fields, _ := strings.Cut(r.Header.Get(headerAuthorization), " ")
	if len(r.Header[headerAuthorization]) != 1 || scheme != algorithm {
		return nil, refuse("expected " + algorithm + "; asymmetric and older schemes can't be signed anew")
	}
	if query.Has(paramToken) {
		return nil, refuse("a session token in the URL and the signature in the header")
	}
	found := map[string]string{}
	for field := range strings.SplitSeq(fields, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(field), "=")
		if _, twice := found[key]; !ok || twice {
			return nil, refuse("malformed")
		}
		found[key] = value
	}
	if len(found) != 3 || found["Signature"] == "" {
		return nil, refuse("expected Credential, SignedHeaders and Signature")
	}
	c := &claim{}
	if err := c.read(found["Credential"], found["SignedHeaders"], r.Header[headerDate]); err != nil {
		return nil, err
	}
	delete(r.Header, headerAuthorization)
	delete(r.Header, headerToken)
	return c, nil
}

// claimInQuery reads the parameters of a presigned URL and takes those off that
// will be set again.
func claimInQuery(r *http.Request, query url.Values) (*claim, error) {
	for _, name := range [...]string{paramAlgorithm, paramCredential, paramDate, paramHeaders, paramSignature} {
		if len(query[name]) != 1 {
			return nil, refuse("expected " + name + " once")
		}
	}
	if query.Get(paramAlgorithm) != algorithm {
		return nil, refuse("expected " + algorithm + "; asymmetric and older schemes can't be signed anew")
	}
	c := &claim{presigned: true}
	if err := c.read(query.Get(paramCredential), query.Get(paramHeaders), query[paramDate]); err != nil {
		return nil, err
	}
	for _, name := range [...]string{paramAlgorithm, paramCredential, paramDate, paramHeaders, paramSignature, paramToken} {
		query.Del(name)
	}
	delete(r.Header, headerToken)
	r.URL.RawQuery = query.Encode()
	return c, nil
}

// read takes in the parts that both forms have.
func (c *claim) read(credential, headers string, dates []string) error {
	scope := strings.Split(credential, "/")
	if len(scope) != 5 || scope[4] != ending || scope[2] == "" || scope[3] == "" {
		return refuse("malformed credential scope")
	}
	if len(dates) != 1 {
		return refuse("expected X-Amz-Date once")
	}
	var err error
	if c.date, err = time.Parse(dateForm, dates[0]); err != nil || c.date.Format("20060102") != scope[1] {
		return refuse("malformed date, or not that of the credential scope")
	}
	c.keyID, c.region, c.service = scope[0], scope[2], scope[3]
	host := false
	for name := range strings.SplitSeq(headers, ";") {
		switch canonical := http.CanonicalHeaderKey(name); {
		case name == "host":
			host = true
		case canonical == headerAuthorization || canonical == headerToken:
		case !slices.Contains(c.headers, canonical):
			c.headers = append(c.headers, canonical)
		}
	}
	if !host {
		return refuse("the host is not signed")
	}
	return nil
}

// canonicalQuery writes the query as it is signed (sorted, everything escaped
// that may be), so that no server reads another one out of it.
func canonicalQuery(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return refuse("the query can be read in more than one way")
	}
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return nil
}

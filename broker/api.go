package broker

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/policy"
)

// Style is whose REST API a forge speaks.
type Style int

// The zero Style is none that is known.
const (
	_ Style = iota
	GitHubStyle
	GitLabStyle
	GiteaStyle
)

// API is where the REST API of a forge is.
type API struct {
	Host   policy.Host
	Prefix string // of its paths, "/api/v3"; no slash at the end
	Style  Style
}

// Describer is an Issuer whose credentials the forge's REST API takes too.
type Describer interface{ API() API }

// API returns where the REST API of an issuer is; ok is false if it has none.
func (b *Broker) API(issuer string) (_ API, ok bool) {
	d, ok := b.options.Issuers[issuer].(Describer)
	if !ok {
		return API{}, false
	}
	return d.API(), true
}

// Call is what a request to a REST API does.
type Call struct {
	Repository Repository
	Access     Access
	// Contents: it may change what the repository holds, or its refs.
	Contents bool
}

// Parse reads the method and escaped path of a request. ok is false for
// everything that isn't about a single repository, or that could be read in two
// ways, and for changes of other things than contents, issues and requests to
// merge: of settings, members, keys, hooks and names. GraphQL, whose scope is in
// its body, is among them.
func (a API) Parse(method, escapedPath string) (_ Call, ok bool) {
	rest, below := strings.CutPrefix(escapedPath, a.Prefix+"/")
	if !below || strings.ContainsAny(rest, `\;`) {
		return Call{}, false
	}
	segments := strings.Split(rest, "/")
	if slices.ContainsFunc(segments, func(s string) bool { return strings.Trim(s, ".") == "" }) {
		return Call{}, false // empty ones, too
	}
	repository, inside, ok := a.repository(segments)
	if !ok || !a.plain(inside) {
		return Call{}, false
	}
	c := Call{Repository: repository, Access: Read}
	if method == http.MethodGet || method == http.MethodHead {
		return c, true
	}
	c.Access = Write
	if len(inside) == 0 {
		return Call{}, false // the repository itself
	}
	talk, contents := a.Style.writable()
	switch {
	case slices.Contains(talk, inside[0]):
		c.Contents = slices.ContainsFunc(inside[1:], merges)
		return c, true
	case slices.Contains(contents, inside[0]):
		c.Contents = true
		return c, true
	}
	return Call{}, false
}

// repository takes the repository off the segments of a path.
func (a API) repository(segments []string) (_ Repository, inside []string, ok bool) {
	var path string
	switch {
	case a.Style == GitLabStyle && len(segments) >= 2 && segments[0] == "projects":
		var encoded bool
		path, encoded = unescapeSlashes(segments[1])
		if !encoded {
			return Repository{}, nil, false // a number says nothing about names
		}
		inside = segments[2:]
	case (a.Style == GitHubStyle || a.Style == GiteaStyle) && len(segments) >= 3 && segments[0] == "repos":
		path = segments[1] + "/" + segments[2]
		inside = segments[3:]
	default:
		return Repository{}, nil, false
	}
	if strings.HasSuffix(path, ".git") || strings.HasSuffix(path, ".wiki") {
		return Repository{}, nil, false // an API takes them for part of the name
	}
	r, err := CanonicalRepository(path)
	return r, inside, err == nil
}

// plain reports whether the rest of a path reads one way only. GitLab takes
// files and branches with their slashes escaped.
func (a API) plain(inside []string) bool {
	rest := strings.Join(inside, "/")
	if a.Style == GitLabStyle {
		rest, _ = unescapeSlashes(rest)
	}
	if rest == "" {
		return true
	}
	dots := func(s string) bool { return strings.Trim(s, ".") == "" }
	return !strings.Contains(rest, "%") && !slices.ContainsFunc(strings.Split(rest, "/"), dots)
}

// unescapeSlashes undoes the escapes of slashes, of which there must be one.
func unescapeSlashes(s string) (string, bool) {
	plain := strings.NewReplacer("%2F", "/", "%2f", "/").Replace(s)
	return plain, plain != s
}

// merges reports whether a segment below a request to merge changes a branch.
func merges(segment string) bool {
	return slices.Contains([]string{"merge", "update-branch", "update", "rebase", "merge_ref", "cancel_merge_when_pipeline_succeeds", "commits"}, segment)
}

// writable returns the collections of a repository that may be changed: what
// people say about it, and what it holds.
func (s Style) writable() (talk, contents []string) {
	switch s {
	case GitHubStyle:
		return []string{"issues", "pulls", "comments", "labels", "milestones", "statuses", "check-runs"},
			[]string{"git", "contents", "merges", "merge-upstream", "releases"}
	case GitLabStyle:
		return []string{"issues", "merge_requests", "labels", "milestones", "statuses"},
			[]string{"repository", "releases"}
	case GiteaStyle:
		return []string{"issues", "pulls", "labels", "milestones", "statuses"},
			[]string{"contents", "branches", "tags", "releases", "diffpatch"}
	}
	return nil, nil
}

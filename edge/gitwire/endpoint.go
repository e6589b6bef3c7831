package gitwire

import (
	"net/http"
	"net/url"
	"strings"
)

// Service is what an endpoint of a repository is for.
type Service int

// Services. The zero Service is none.
const (
	Fetch   Service = iota + 1 // git-upload-pack
	Receive                    // git-receive-pack
	LFS                        // git-lfs, either way
)

// Endpoint is one endpoint of a repository.
type Endpoint struct {
	Repository string // as the path has it, which may end in ".git"
	Service    Service
	// Advertises: the request asks for the refs, or what else comes first.
	Advertises bool
	// Batch: the body of the LFS request says which way it goes.
	Batch bool
	// Reads: it changes nothing, whatever its body says.
	Reads bool
}

// ParseEndpoint tells the endpoint from a request's method, escaped path and
// query. ok is false for anything else than git's smart HTTP
// (gitprotocol-http(5)) and the LFS API, in their plain spelling: for those no
// credential is swapped.
func ParseEndpoint(method, escapedPath, query string) (e Endpoint, ok bool) {
	if strings.ContainsAny(escapedPath, `%\;`) || strings.Contains(escapedPath, "//") {
		return Endpoint{}, false
	}
	path, ok := strings.CutPrefix(escapedPath, "/")
	if !ok {
		return Endpoint{}, false
	}
	if e, ok := parseLFS(method, path); ok {
		return e, true
	}
	switch {
	case method == http.MethodGet && strings.HasSuffix(path, "/info/refs"):
		e = Endpoint{Repository: strings.TrimSuffix(path, "/info/refs"), Service: services[query], Advertises: true, Reads: true}
	case method == http.MethodPost && strings.HasSuffix(path, "/git-upload-pack") && query == "":
		e = Endpoint{Repository: strings.TrimSuffix(path, "/git-upload-pack"), Service: Fetch, Reads: true}
	case method == http.MethodPost && strings.HasSuffix(path, "/git-receive-pack") && query == "":
		e = Endpoint{Repository: strings.TrimSuffix(path, "/git-receive-pack"), Service: Receive}
	}
	return e, e.Service != 0
}

// services are the queries of git's first request.
var services = map[string]Service{"service=git-upload-pack": Fetch, "service=git-receive-pack": Receive}

// Prefixes of the LFS API below a repository: that of the standard, and that of
// GitLab's transfers.
var lfsPrefixes = []string{".git/info/lfs/", ".git/gitlab-lfs/"}

func parseLFS(method, path string) (Endpoint, bool) {
	for _, prefix := range lfsPrefixes {
		repository, rest, found := strings.Cut(path, prefix)
		if !found {
			continue
		}
		for segment := range strings.SplitSeq(rest, "/") {
			if segment == "" || segment == "." || segment == ".." {
				return Endpoint{}, false
			}
		}
		reads := method == http.MethodGet || method == http.MethodHead
		batch := rest == "objects/batch"
		if batch && method != http.MethodPost {
			return Endpoint{}, false
		}
		return Endpoint{Repository: repository + ".git", Service: LFS, Batch: batch, Reads: reads}, true
	}
	return Endpoint{}, false
}

// LooksLikePush reports whether a path, however it is spelled, may be read by a
// server as that of a push.
func LooksLikePush(escapedPath, query string) bool {
	text := escapedPath + "?" + query
	for range 3 {
		if strings.Contains(strings.ToLower(text), "git-receive-pack") {
			return true
		}
		plain, err := url.PathUnescape(text)
		if err != nil || plain == text {
			break
		}
		text = plain
	}
	return false
}

package scrub

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/sallyport/sallyport/inject/scan"
)

// Response scrubs resp: its header now, its body and its trailer as they are
// read. nil for by leaves it alone. An error means that the body is coded in a
// way that can't be undone; resp must not be passed on then.
//
// A 101 has its header scrubbed only: see [Frames].
func Response(resp *http.Response, by *scan.Replacer) error {
	if by == nil {
		return nil
	}
	Header(resp.Header, by)
	if resp.StatusCode == http.StatusSwitchingProtocols || isGRPC(resp.Header) {
		return nil
	}
	code, name, err := codingOf(resp.Header)
	if err != nil {
		return err
	}
	if !isText(resp.Header) || resp.Header.Get("Content-Range") != "" {
		by = by.Fitted()
	}
	if name != identity || !by.Even() {
		// Also for HEAD: it says what GET would.
		resp.ContentLength = -1
		delete(resp.Header, "Content-Length")
	}
	if resp.Body == nil || resp.Body == http.NoBody {
		return nil
	}
	resp.Body = &body{resp: resp, raw: resp.Body, coding: code, by: by, stream: by.Stream()}
	return nil
}

// Header scrubs the values of h. Set-Cookie and WWW-Authenticate stay too, but
// for a secret in them.
func Header(h http.Header, by *scan.Replacer) {
	for _, values := range h {
		for i, v := range values {
			values[i] = by.String(v)
		}
	}
}

// codingOf returns how a body is coded. Codings on top of each other aren't
// undone: nobody was told that they may be sent.
func codingOf(h http.Header) (coding, string, error) {
	name := normal(strings.Join(h["Content-Encoding"], ","))
	if name == "" {
		name = identity
	}
	c, known := codings[name]
	if !known {
		return coding{}, "", fmt.Errorf("scrub response: content coding %.40q can't be undone", name)
	}
	return c, name, nil
}

// isText reports whether placeholders may change the length of the content.
// Without a type a client would guess; so it counts as text.
func isText(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return true
	}
	kind = strings.ToLower(kind)
	for _, prefix := range []string{"image/", "audio/", "video/", "font/"} {
		if strings.HasPrefix(kind, prefix) && !strings.HasSuffix(kind, "+xml") {
			return false
		}
	}
	switch kind {
	case "application/octet-stream", "application/zip", "application/gzip", "application/x-tar", "application/pdf",
		"application/wasm", "application/x-git-upload-pack-result", "application/x-git-receive-pack-result":
		return false
	}
	return true
}

func isGRPC(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "application/grpc")
}

package scrub

import (
	"net/http"
	"strings"
)

// Prepare makes a request ask for nothing that couldn't be scrubbed: codings
// that can't be undone, parts of a document, which could cut a secret in two,
// and compressed WebSocket messages.
func Prepare(h http.Header) {
	delete(h, "Range")
	delete(h, "If-Range")
	delete(h, "Sec-Websocket-Extensions")
	PrepareCodings(h)
}

// PrepareCodings is [Prepare] for answers of which only those without content
// of their own, such as errors, have to be scrubbed.
func PrepareCodings(h http.Header) {
	if _, ok := h["Accept-Encoding"]; !ok {
		return
	}
	var kept []string
	for _, list := range h["Accept-Encoding"] {
		for item := range strings.SplitSeq(list, ",") {
			name, _, _ := strings.Cut(item, ";")
			if _, known := codings[normal(name)]; known {
				kept = append(kept, strings.TrimSpace(item))
			}
		}
	}
	if len(kept) == 0 {
		kept = []string{identity}
	}
	h["Accept-Encoding"] = []string{strings.Join(kept, ", ")}
}

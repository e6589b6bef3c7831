package edge

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/docker/go-units"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/edge/gitwire"
	"github.com/sallyport/sallyport/edge/refusal"
)

// refusedBeside is what git says of a ref that would have been allowed by
// itself: a push passes whole or not at all.
const refusedBeside = "the push was refused because of another ref"

// judge reads the commands of a push and holds them against the rules; the pack
// is watched while it passes, if it has to show anything.
func (x *gitCrossing) judge(c *crossing, out *http.Request, rules *broker.PushRules) *refusal.Refusal {
	x.body = out.Body
	denied := &refusal.Refusal{Code: refusal.PushRefused, Host: c.host.String()}
	plain, err := uncoded(out)
	if err == nil {
		x.push, err = gitwire.ReadPush(plain)
	}
	if err != nil {
		denied.Detail = err.Error()
		return denied
	}
	x.reasons = map[string]string{}
	var proofs []gitwire.Command // that they are no rewinds
	for _, command := range x.push.Commands {
		change := changeOf(command)
		if reason := rules.Refuse(command.Ref, change); reason != "" {
			x.reasons[command.Ref] = reason
		} else if change == broker.Move && !rules.Force() {
			proofs = append(proofs, command)
		}
	}
	if len(x.reasons) > 0 {
		x.reason = refusedBeside
		denied.Detail = x.describe()
		return denied
	}
	x.stream = &pushBody{x: x, client: out.Body, pack: plain, proofs: proofs, limit: rules.MaxPack()}
	out.Body = x.stream
	return nil
}

func changeOf(c gitwire.Command) broker.Change {
	switch {
	case c.Deletes():
		return broker.Remove
	case c.Creates():
		return broker.Create
	}
	return broker.Move
}

// uncoded returns the body of a push without its coding, which the request loses:
// the forge reads what was judged.
func uncoded(out *http.Request) (io.Reader, error) {
	coding := strings.ToLower(strings.Join(out.Header["Content-Encoding"], ","))
	switch coding {
	case "", "identity":
		return out.Body, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(out.Body)
		if err != nil {
			return nil, fmt.Errorf("body of a push: %w", err)
		}
		delete(out.Header, "Content-Encoding")
		out.ContentLength = -1
		return z, nil
	}
	return nil, errors.New("body of a push: unknown coding")
}

// describe names the refs that were refused, for the record.
func (x *gitCrossing) describe() string {
	var parts []string
	for _, command := range x.push.Commands {
		if reason := x.reasons[command.Ref]; reason != "" && len(parts) < 5 {
			parts = append(parts, command.Ref+": "+reason)
		}
	}
	return strings.Join(parts, "; ")
}

// prove holds what a pack shows against the commands that need a proof. The
// edge knows of the forge's history only what the pack says: every ref must be
// reached from its new commit through commits of the pack. A push that moves a
// ref to what the forge has already can't be told from a rewind.
func (x *gitCrossing) prove(pack *gitwire.Pack, proofs []gitwire.Command) {
	for _, command := range proofs {
		if !pack.Proves(command.Old, command.New) {
			x.reasons[command.Ref] = "not shown to be a fast-forward, and this sandbox may not force"
		}
	}
	if len(x.reasons) > 0 {
		x.reason = refusedBeside
	}
}

// tooLarge refuses a pack beyond the limit.
func (x *gitCrossing) tooLarge(limit int64) {
	x.reason = "the pack is larger than " + units.BytesSize(float64(limit))
}

// pushRefusal says why a push was broken off; nil if it wasn't.
func (c *crossing) pushRefusal() *refusal.Refusal {
	x := c.git
	if x == nil || x.stream == nil || !x.stream.refused.Load() {
		return nil
	}
	r := &refusal.Refusal{Code: refusal.PushRefused, Host: c.host.String(), Detail: x.describe()}
	if r.Detail == "" {
		r.Detail = x.reason
	}
	return r
}

// maxDrain bounds what is read of a push that was refused: git reads the reason
// only after it has sent everything.
const maxDrain = 1 << 30

// answer renders a refusal in git's own protocol; nil if git wouldn't
// understand it.
func (x *gitCrossing) answer(r *http.Request, refused *refusal.Refusal) *http.Response {
	if x == nil {
		return nil
	}
	reason := x.reason
	if reason == "" {
		reason = refused.Code.Message()
	}
	var body []byte
	kind, status := gitwire.ReportType, http.StatusOK
	switch {
	case x.endpoint.Service == gitwire.LFS:
		kind, status = "application/vnd.git-lfs+json", refused.Status()
		body = fmt.Appendf(nil, "{\"message\":%q,\"request_id\":%q}\n", "Sallyport: "+reason, refused.RequestID)
	case x.endpoint.Service == gitwire.Receive && x.endpoint.Advertises:
		kind = gitwire.AdvertisementType
		body = gitwire.Advertisement("Sallyport: " + reason)
	case x.push != nil:
		_, _ = io.CopyN(io.Discard, x.body, maxDrain) // however it ends, this is the answer
		body = x.push.Report(reason, x.reasons)
	}
	if body == nil {
		return nil
	}
	resp := refused.Response(r)
	resp.Status, resp.StatusCode = "", status
	resp.Close = false
	delete(resp.Header, "Connection")
	resp.Header.Set("Content-Type", kind)
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp
}

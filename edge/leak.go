package edge

import (
	"errors"
	"net/http"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/scan"
	"github.com/sallyport/sallyport/inject/scrub"
)

// inspectHead looks for placeholders and secrets in a request that is not sent,
// or that is a CONNECT. It returns a refusal if there are any.
func (c *crossing) inspectHead(r *http.Request) *refusal.Refusal {
	if c.boundary == nil {
		return nil
	}
	if err := c.boundary.Bindings.CheckConnect(r); err != nil {
		return c.applyRefusal(err)
	}
	return nil
}

// applyRefusal maps an error of [inject.Set.Apply] and notes what was found.
// Every one that isn't known counts as a secret that couldn't be had: nothing
// is sent. Whose placeholder it was, and that one was bait, is for the record
// only.
func (c *crossing) applyRefusal(err error) *refusal.Refusal {
	r := &refusal.Refusal{Code: refusal.SecretUnavailable, Host: c.host.String(), Detail: err.Error()}
	var misuse *inject.MisuseError
	var ambiguous *inject.RequestError
	var spent *inject.BudgetError
	switch {
	case errors.As(err, &spent):
		r.Code = refusal.SecretBudget
	case errors.As(err, &misuse):
		r.Code = misuseCode(misuse)
		c.misuse = append(c.misuse, misuse.Find)
	case errors.As(err, &ambiguous):
		r.Code = refusal.BadRequest
	}
	return r
}

func misuseCode(misuse *inject.MisuseError) refusal.Code {
	if misuse.Kind == inject.FoundSecret {
		return refusal.SecretLeak
	}
	return refusal.PlaceholderWrongHost
}

// bodyRefusal says why the request's body was broken off; nil if it wasn't.
func (c *crossing) bodyRefusal() *refusal.Refusal {
	var misuse *inject.MisuseError
	if !errors.As(c.injection.Refused(), &misuse) {
		return nil
	}
	return &refusal.Refusal{Code: misuseCode(misuse), Host: c.host.String(), Detail: misuse.Error()}
}

// scrub takes the secrets of the boundary out of a response to a request into
// which one was written.
func (c *crossing) scrub(resp *http.Response) *refusal.Refusal {
	for _, by := range c.scrubbers(resp.StatusCode) {
		if err := scrub.Response(resp, by); err != nil {
			return &refusal.Refusal{Code: refusal.UpstreamProtocol, Host: c.host.String(), Detail: err.Error()}
		}
	}
	return nil
}

// scrubbers are what takes secrets out of a response of the given status.
func (c *crossing) scrubbers(status int) []*scan.Replacer {
	var all []*scan.Replacer
	if by := c.injection.Scrubber(status); by != nil {
		all = append(all, by)
	}
	if c.git != nil && c.git.scrubber != nil {
		all = append(all, c.git.scrubber)
	}
	return all
}

// recordFinds completes the record with what was written into the request and
// what was found in it.
func (c *crossing) recordFinds() {
	c.rec.Injected = c.injection.Injected
	c.rec.Finds = append(c.misuse, c.injection.Finds()...)
	if len(c.rec.Finds) == 0 {
		return
	}
	if r := c.bodyRefusal(); r != nil {
		c.rec.Verdict, c.rec.Reason = audit.VerdictDeny, string(r.Code)
		c.rec.Detail, c.rec.Severity = r.Detail, r.Code.Severity()
	}
	c.rec.Severity = findSeverity(c.rec.Severity, c.rec.Finds)
	c.redact()
}

// redacted stands for a field that holds the value of a secret.
const redacted = "[redacted]"

// redact keeps a secret that was found in a URL out of the record.
func (c *crossing) redact() {
	for _, f := range c.rec.Finds {
		if f.Kind != inject.FoundSecret || f.Where != "url" {
			continue
		}
		c.rec.Path = redacted
		if c.rec.Protocol == protocolConnect {
			c.rec.Host, c.rec.Path = redacted, ""
		}
	}
}

// findSeverity raises the severity of a record for what was found.
func findSeverity(severity string, finds []inject.Find) string {
	for _, f := range finds {
		if f.Kind.Critical() {
			return audit.SeverityCritical
		}
	}
	if severity == "" || severity == audit.SeverityLow {
		return audit.SeverityMedium
	}
	return severity
}

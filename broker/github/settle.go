package github

import (
	"context"
	"net/http"
	"time"

	"github.com/sallyport/sallyport/broker"
)

// A fresh token is refused by replicas of GitHub that haven't heard of it yet;
// git gives up at the first refusal.
const (
	settleWithin = 3 * time.Second
	firstWait    = 100 * time.Millisecond
)

// settle waits until the git endpoint accepts a token, for a while. Whatever it
// finds, the token is as good as it will get.
func (i *Issuer) settle(ctx context.Context, c broker.Credential) {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	for wait := firstWait; !i.accepted(ctx, c); wait *= 2 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// accepted reports whether there is no use in waiting any longer.
func (i *Issuer) accepted(ctx context.Context, c broker.Credential) bool {
	at := "https://" + i.options.Host.String() + "/" + c.Repository.String() + ".git/info/refs?service=git-upload-pack"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return true
	}
	req.SetBasicAuth(c.Username, string(c.Password.Reveal()))
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Git-Protocol", "version=2") // a short answer, without the refs
	resp, err := i.options.Transport.RoundTrip(req)
	if err != nil {
		return true
	}
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return false
	default:
		return true
	}
}

package gitwire

import (
	"fmt"
	"strings"
)

// Media types of answers.
const (
	AdvertisementType = "application/x-git-receive-pack-advertisement"
	ReportType        = "application/x-git-receive-pack-result"
)

// maxReason bounds a reason, and maxBand what a side band carries at once.
const (
	maxReason = 200
	maxBand   = 990
)

// Advertisement answers the first request of a push with a reason, which git
// prints as "remote error".
func Advertisement(reason string) []byte {
	b := appendPacket(nil, "# service=git-receive-pack\n")
	return appendPacket(append(b, flushPacket...), "ERR "+plain(reason)+"\n")
}

// Report answers a push: nothing of it was done. Reasons are those of single
// refs; all others failed for the general one. It is nil if the client wants no
// report, so can't be told in git's protocol.
func (p *Push) Report(general string, reasons map[string]string) []byte {
	if !p.Can("report-status") && !p.Can("report-status-v2") {
		return nil
	}
	report := appendPacket(nil, "unpack ok\n")
	for _, c := range p.Commands {
		reason := reasons[c.Ref]
		if reason == "" {
			reason = general
		}
		report = appendPacket(report, "ng "+c.Ref+" "+plain(reason)+"\n")
	}
	report = append(report, flushPacket...)
	band := 0
	switch {
	case p.Can("side-band-64k"):
		band = maxPacket - 5
	case p.Can("side-band"):
		band = maxBand
	default:
		return report
	}
	b := appendPacket(nil, "\x02"+fmt.Sprintf("sallyport: %s\n", plain(general)))
	for len(report) > 0 {
		n := min(band, len(report))
		b = appendPacket(b, "\x01"+string(report[:n]))
		report = report[n:]
	}
	return append(b, flushPacket...)
}

// plain returns a reason as one line that no terminal takes for a command.
func plain(reason string) string {
	reason = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, reason)
	if len(reason) > maxReason {
		reason = reason[:maxReason] + "..."
	}
	return reason
}

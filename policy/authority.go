package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CanonicalAuthority parses the "host:port" of a CONNECT request, a Host
// header or an ":authority". Where no port is written the result has
// defaultPort; a defaultPort of zero makes the port mandatory, as CONNECT
// does (RFC 9110 §9.3.6).
//
// It accepts only what every parser reads alike: a host that [CanonicalHost]
// accepts, in brackets exactly if it is an IPv6 address, and a decimal port
// from 1 to 65535 without sign or leading zero. User information, an empty
// port and whatever else surrounds an authority in a URL are refused.
func CanonicalAuthority(s string, defaultPort uint16) (Host, uint16, error) {
	h, port, err := authority(s, defaultPort)
	if err != nil {
		return Host{}, 0, fmt.Errorf("parse authority %s: %w", quote(s), err)
	}
	return h, port, nil
}

func authority(s string, defaultPort uint16) (Host, uint16, error) {
	host, port, found := s, "", false
	if end := strings.LastIndexByte(s, ':'); end > strings.LastIndexByte(s, ']') {
		host, port, found = s[:end], s[end+1:], true
	}
	if host != "" && host[0] != '[' && strings.IndexByte(host, ':') >= 0 {
		return Host{}, 0, errors.New("an IPv6 address needs brackets")
	}
	h, err := canonical(host)
	if err != nil {
		return Host{}, 0, err
	}
	if !found {
		if defaultPort == 0 {
			return Host{}, 0, errors.New("it has no port")
		}
		return h, defaultPort, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	// ParseUint takes "0443" too; comparing the text leaves one spelling.
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return Host{}, 0, errors.New("the port is not a number from 1 to 65535")
	}
	return h, uint16(n), nil
}

package inject

import (
	"encoding/base64"
	"strings"
)

// decodeBasic decodes the credentials, normally "user:password" (RFC 7617 §2),
// of an "Authorization: Basic" value in whatever dialect servers accept: any
// case of the scheme, several spaces, either base64 alphabet, with or without
// padding. ok is false for anything else, which then holds no placeholder that
// a server could see.
func decodeBasic(value string) (text string, ok bool) {
	const scheme = "basic"
	value = strings.Trim(value, " \t")
	if len(value) <= len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return "", false
	}
	encoded := strings.TrimLeft(value[len(scheme):], " \t")
	if len(encoded) == len(value)-len(scheme) {
		return "", false // another scheme that starts alike
	}
	encoded = strings.TrimRight(encoded, "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(encoded, "-_") {
		encoding = base64.RawURLEncoding
	}
	decoded, err := encoding.DecodeString(encoded)
	if err != nil {
		return "", false
	}
	return string(decoded), true
}

// encodeBasic is the canonical form of a Basic value.
func encodeBasic(text string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(text))
}

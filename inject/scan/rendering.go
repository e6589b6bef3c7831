package scan

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strings"
)

// MinSecret is the least length of a secret that is looked for, in bytes.
// Anyone could guess a shorter one, and ordinary text would be mangled.
const MinSecret = 8

// Rendering is one way in which a secret is written, and what is written in its
// place: the placeholder in the same way.
type Rendering struct {
	Text, Stand []byte
}

// Renderings returns the ways in which software writes secret (decision 23):
// as it is, in base64 wherever it stands in what was encoded, escaped for URLs,
// JSON and HTML, and in hex. A secret shorter than [MinSecret] has none.
func Renderings(secret, placeholder []byte) []Rendering {
	if len(secret) < MinSecret {
		return nil
	}
	var all []Rendering
	seen := make(map[string]bool)
	add := func(text, stand string) {
		if !seen[text] {
			seen[text] = true
			all = append(all, Rendering{[]byte(text), []byte(stand)})
		}
	}
	for _, write := range writers {
		add(write(string(secret)), write(string(placeholder)))
	}
	for _, alphabet := range [...]*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for before := range 3 {
			// The end first: credentials are the last in what is encoded, and
			// their stand-in has to decode.
			add(end(alphabet, before, secret), end(alphabet, before, placeholder))
			add(Core(alphabet, before, secret), Core(alphabet, before, placeholder))
		}
	}
	return all
}

var writers = [...]func(string) string{
	func(s string) string { return s },
	url.QueryEscape,
	url.PathEscape,
	escapeComponent,
	func(s string) string { return lowerEscapes(url.QueryEscape(s)) },
	func(s string) string { return lowerEscapes(escapeComponent(s)) },
	func(s string) string { return toJSON(s, true) },
	func(s string) string { return toJSON(s, false) },
	func(s string) string { return strings.ReplaceAll(toJSON(s, false), "/", `\/`) },
	html.EscapeString,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace,
	func(s string) string { return hex.EncodeToString([]byte(s)) },
	func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
}

// escapeComponent escapes all but letters, digits and "-_.~" (RFC 3986 §2.3),
// a space as %20.
func escapeComponent(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// lowerEscapes writes escapes with small hex digits.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

func toJSON(s string, forHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(forHTML)
	if err := enc.Encode(s); err != nil {
		return s // strings always encode
	}
	quoted := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return string(quoted[1 : len(quoted)-1])
}

// Core is the part of a base64 text that text, not empty, alone decides, if before bytes
// (modulo 3) stand ahead of it and anything behind it.
func Core(alphabet *base64.Encoding, before int, text []byte) string {
	encoded, bits := encode(alphabet, before, text)
	from := (before*8 + 5) / 6
	return encoded[from:max(from, bits/6)]
}

// end is Core where text is the last that was encoded and padding follows.
func end(alphabet *base64.Encoding, before int, text []byte) string {
	encoded, _ := encode(alphabet, before, text)
	return encoded[(before*8+5)/6:]
}

func encode(alphabet *base64.Encoding, before int, text []byte) (encoded string, bits int) {
	whole := append(make([]byte, before), text...)
	return alphabet.EncodeToString(whole), len(whole) * 8
}

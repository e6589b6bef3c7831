package suite

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// fill replaces the words in braces of a row.
func (c *Client) fill(r Row) Row {
	words := strings.NewReplacer(append(spellings(c.Literal),
		"{auth}", "Authorization: Bearer "+c.Placeholder+"\r\n",
		"{own}", "",
		"{placeholder}", c.Placeholder,
		"{id}", r.ID,
	)...)
	r.Connect = words.Replace(r.Connect)
	r.Send = slices.Clone(r.Send)
	for i := range r.Send {
		r.Send[i] = words.Replace(r.Send[i])
		if r.Mode == Explicit && r.Connect == "" {
			r.Send[i] = c.withCredentials(r.Send[i])
		}
	}
	streams := make([][]Field, len(r.Streams))
	for i, fields := range r.Streams {
		for _, f := range fields {
			streams[i] = append(streams[i], Field{f.Name, words.Replace(f.Value)})
		}
	}
	if r.Streams != nil {
		r.Streams = streams
	}
	return r
}

// spellings are the ways to write an IPv4 address, most of which only some
// parsers know.
func spellings(literal string) []string {
	addr, err := netip.ParseAddr(literal)
	if err != nil || !addr.Is4() {
		return nil
	}
	b := addr.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	return []string{
		"{literal}", literal,
		"{decimal}", fmt.Sprint(n),
		"{hex}", fmt.Sprintf("0x%08x", n),
		"{octal}", fmt.Sprintf("0%o.%d.%d.%d", b[0], b[1], b[2], b[3]),
		"{short}", fmt.Sprintf("%d.%d", b[0], n&0xffffff),
		"{mapped}", fmt.Sprintf("::ffff:%s", literal),
	}
}

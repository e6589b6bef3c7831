package suite

import (
	"bytes"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// playStreams opens every stream at once and returns what became of each.
func playStreams(conn net.Conn, r Row) []string {
	answers := make([]string, len(r.Streams))
	rest := func(with string) []string {
		for i, a := range answers {
			if a == "" {
				answers[i] = with
			}
		}
		return answers
	}
	var out bytes.Buffer // one write: the streams overlap
	out.WriteString(http2.ClientPreface)
	fr := http2.NewFramer(&out, conn)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = fr.WriteSettings()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i, fields := range r.Streams {
		block.Reset()
		for _, f := range fields {
			_ = enc.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value})
		}
		_ = fr.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true,
		})
	}
	if _, err := conn.Write(out.Bytes()); err != nil {
		return rest(end(err))
	}
	for open := len(answers); open > 0; {
		f, err := fr.ReadFrame()
		if err != nil {
			return rest(end(err))
		}
		var answer string
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			answer = f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			answer = "reset"
		}
		i := int(f.Header().StreamID) / 2
		if answer != "" && i < len(answers) && answers[i] == "" {
			answers[i] = answer
			open--
		}
	}
	return answers
}

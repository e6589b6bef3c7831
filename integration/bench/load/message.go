package load

import (
	"bufio"
	"bytes"
	"strconv"
)

// message is the head of a request or response, as far as we look at it.
type message struct {
	first   []byte // valid until the next read
	length  int64
	chunked bool
	close   bool

	authorization, proof []byte
	raw                  []byte
}

// read reads one head. Only what our own two ends and sane proxies send is
// understood.
func (m *message) read(br *bufio.Reader) error {
	m.raw = m.raw[:0]
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		m.raw = append(m.raw, line...)
		if len(line) <= 2 {
			break
		}
	}
	*m = message{raw: m.raw}
	for rest := m.raw; len(rest) > 0; {
		line, next, _ := bytes.Cut(rest, []byte("\n"))
		rest = next
		line = bytes.TrimRight(line, "\r")
		if m.first == nil {
			m.first = line
			continue
		}
		if err := m.field(line); err != nil {
			return err
		}
	}
	return nil
}

func (m *message) field(line []byte) (err error) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return nil
	}
	value = bytes.TrimSpace(value)
	switch len(name) { // few names are of these lengths
	case len("Content-Length"):
		if bytes.EqualFold(name, []byte("Content-Length")) {
			m.length, err = strconv.ParseInt(string(value), 10, 64)
		}
	case len("Authorization"):
		if bytes.EqualFold(name, []byte("Authorization")) {
			m.authorization = value
		}
	case len("Connection"):
		m.close = m.close || bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close"))
	case len("X-Proof"):
		if bytes.EqualFold(name, []byte("X-Proof")) {
			m.proof = value
		}
	case len("Transfer-Encoding"):
		m.chunked = m.chunked || bytes.EqualFold(name, []byte("Transfer-Encoding"))
	}
	return err
}

// ok reports whether the message is a response of status 200.
func (m *message) ok() bool {
	return len(m.first) >= 12 && string(m.first[9:12]) == "200"
}

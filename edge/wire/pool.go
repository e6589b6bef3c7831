package wire

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

// bufferSize is the read and write buffer of a connection.
const bufferSize = 4 << 10

var (
	readers     = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, bufferSize) }}
	writers     = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bufferSize) }}
	headReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, bufferSize) }}
	headBytes   = sync.Pool{New: func() any { return new(bytes.Reader) }}
	heads       = sync.Pool{New: func() any { return new([]byte) }}
)

func getReader(r io.Reader) *bufio.Reader {
	br := readers.Get().(*bufio.Reader)
	br.Reset(r)
	return br
}

func putReader(br *bufio.Reader) {
	br.Reset(nil)
	readers.Put(br)
}

func getWriter(w io.Writer) *bufio.Writer {
	bw := writers.Get().(*bufio.Writer)
	bw.Reset(w)
	return bw
}

func putWriter(bw *bufio.Writer) {
	bw.Reset(nil)
	writers.Put(bw)
}

func getHead() *[]byte { return heads.Get().(*[]byte) }

// putHead keeps ordinary buffers only, so that one huge head isn't kept.
func putHead(b *[]byte) {
	if cap(*b) <= bufferSize*2 {
		heads.Put(b)
	}
}

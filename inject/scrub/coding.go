package scrub

import (
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const identity = "identity"

// coding is a content coding (RFC 9110 §8.4.1) that can be undone and done
// again. Neither function may start a goroutine.
type coding struct {
	decode func(io.Reader) (io.Reader, func(), error) // and what frees it
	encode func(io.Writer) (encoder, error)
}

// encoder compresses a stream; Flush makes all that was written readable.
type encoder interface {
	io.WriteCloser
	Flush() error
}

// maxWindow is how much memory a sender of zstd may make us hold (RFC 9659 §3).
const maxWindow = 8 << 20

// brotliLevel is fast; the way to the sandbox is short.
const brotliLevel = 2

// codings that a response may have; identity has no functions.
var codings = map[string]coding{
	identity: {},
	"gzip":   gzipCoding,
	"x-gzip": gzipCoding,
	"br": {
		decode: func(r io.Reader) (io.Reader, func(), error) { return brotli.NewReader(r), nothing, nil },
		encode: func(w io.Writer) (encoder, error) { return brotli.NewWriterLevel(w, brotliLevel), nil },
	},
	"zstd": {
		decode: func(r io.Reader) (io.Reader, func(), error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
			if err != nil {
				return nil, nothing, err
			}
			return d, d.Close, nil
		},
		encode: func(w io.Writer) (encoder, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
		},
	},
}

var gzipCoding = coding{
	decode: func(r io.Reader) (io.Reader, func(), error) {
		d, err := gzip.NewReader(r)
		return d, nothing, err
	},
	encode: func(w io.Writer) (encoder, error) { return gzip.NewWriterLevel(w, gzip.BestSpeed) },
}

func nothing() {}

func normal(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

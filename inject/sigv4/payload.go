package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"

	"github.com/sallyport/sallyport/inject"
)

// Values of X-Amz-Content-Sha256 that are no hash.
const (
	unsigned        = "UNSIGNED-PAYLOAD"
	signedChunks    = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	signedTrailer   = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
	unsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// payload is what the signature says of the body.
type payload struct {
	hash    string // of the canonical request
	chunked bool   // the chunks are signed
	trailer bool   // and so is what follows them
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// payload finds out how the body of r is signed. Without a word on it, the body
// is read.
func (c *claim) payload(r *http.Request) (payload, error) {
	said := r.Header[headerContent]
	if len(said) > 1 {
		return payload{}, refuse("more than one hash of the payload")
	}
	if len(said) == 1 {
		switch hash := said[0]; {
		case hash == unsigned, hash == unsignedTrailer, sha256Form.MatchString(hash):
			return payload{hash: hash}, nil
		case hash == signedChunks, hash == signedTrailer:
			return payload{hash: hash, chunked: true, trailer: hash == signedTrailer}, nil
		}
		return payload{}, refuse("a way to sign the payload that can't be signed anew")
	}
	if c.presigned && c.service == "s3" {
		return payload{hash: unsigned}, nil
	}
	body, err := inject.Whole(r, inject.MaxSignedBody)
	if err != nil {
		return payload{}, err
	}
	sum := sha256.Sum256(body)
	return payload{hash: hex.EncodeToString(sum[:])}, nil
}

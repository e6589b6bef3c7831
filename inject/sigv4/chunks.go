package sigv4

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/sallyport/sallyport/inject"
)

const (
	chunkSignature   = ";chunk-signature="
	trailerSignature = "x-amz-trailer-signature"
	// maxChunk is the longest chunk in bytes: it is kept until its hash is known.
	maxChunk = 8 << 20
	// maxLine and maxTrailer bound what stands between chunks and after them.
	maxLine    = 512
	maxTrailer = 16 << 10
)

// errChunks: the stream isn't what its header says, so nothing can be signed.
var errChunks = errors.New("malformed chunks of a signed stream")

// resign puts a stream of signed chunks under new signatures; any other body
// stays.
func (c *claim) resign(r *http.Request, p payload, keys aws.Credentials, seed string) error {
	if !p.chunked || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	signature, err := hex.DecodeString(seed)
	if err != nil {
		return fmt.Errorf("sign stream: %w", err)
	}
	r.Body = &chunks{
		in: bufio.NewReaderSize(r.Body, 32<<10), body: r.Body,
		by:   v4.NewStreamSigner(keys, c.service, c.region, signature),
		last: signature, claim: c, key: keys.SecretAccessKey, trailer: p.trailer,
	}
	return nil
}

// chunks is a stream of signed chunks, each "SIZE;chunk-signature=SIGNATURE",
// the content, and line ends; the empty one is the last. Lengths don't change.
type chunks struct {
	in      *bufio.Reader
	body    io.Closer
	by      *v4.StreamSigner
	last    []byte // signature
	claim   *claim
	key     string
	trailer bool

	out bytes.Buffer // may be read
	err error        // comes after out
}

func (s *chunks) Read(p []byte) (int, error) {
	for s.out.Len() == 0 && s.err == nil {
		s.out.Reset()
		if s.err = s.next(); s.err != nil && !errors.Is(s.err, io.EOF) {
			s.out.Reset()
		}
	}
	if s.out.Len() > 0 {
		return s.out.Read(p)
	}
	return 0, s.err
}

func (s *chunks) Close() error { return s.body.Close() }

// next signs one chunk. The last one is followed by the trailer and io.EOF.
func (s *chunks) next() error {
	line, err := s.line(maxLine)
	if err != nil {
		return err
	}
	digits, signature, ok := strings.Cut(line, chunkSignature)
	size, err := strconv.ParseUint(digits, 16, 31)
	if !ok || err != nil || len(signature) != 2*sha256.Size || strings.ContainsAny(digits, "+-_") {
		return errChunks
	}
	if size > maxChunk {
		return &inject.TooLargeError{Limit: maxChunk}
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(s.in, content); err != nil {
		return unexpected(err)
	}
	if s.last, err = s.by.GetSignature(context.Background(), nil, content, s.claim.date); err != nil {
		return fmt.Errorf("sign chunk: %w", err)
	}
	fmt.Fprintf(&s.out, "%s%s%x\r\n", digits, chunkSignature, s.last)
	s.out.Write(content)
	if size == 0 && s.trailer {
		return s.trail()
	}
	end, err := s.line(0)
	if err != nil || end != "" {
		return errors.Join(errChunks, err)
	}
	s.out.WriteString("\r\n")
	if size > 0 {
		return nil
	}
	return s.end()
}

// trail signs the trailer: lines "name:value", then its signature.
func (s *chunks) trail() error {
	var canonical strings.Builder
	for {
		line, err := s.line(maxTrailer)
		if err != nil {
			return err
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || canonical.Len() > maxTrailer {
			return errChunks
		}
		if strings.EqualFold(name, trailerSignature) {
			break
		}
		fmt.Fprintf(&s.out, "%s\r\n", line)
		fmt.Fprintf(&canonical, "%s:%s\n", strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value))
	}
	sum := sha256.Sum256([]byte(canonical.String()))
	day, at := s.claim.date.Format("20060102"), s.claim.date.Format(dateForm)
	scope := strings.Join([]string{day, s.claim.region, s.claim.service, ending}, "/")
	text := strings.Join([]string{"AWS4-HMAC-SHA256-TRAILER", at, scope, hex.EncodeToString(s.last), hex.EncodeToString(sum[:])}, "\n")
	fmt.Fprintf(&s.out, "%s:%x\r\n\r\n", trailerSignature, hash(signingKey(s.key, s.claim.date, s.claim.region, s.claim.service), text))
	if end, err := s.line(0); err != nil || end != "" {
		return errors.Join(errChunks, err)
	}
	return s.end()
}

// end demands that nothing comes any more.
func (s *chunks) end() error {
	if _, err := s.in.Peek(1); !errors.Is(err, io.EOF) {
		return errors.Join(errChunks, err)
	}
	return io.EOF
}

// line reads one line of at most longest bytes, without its CR LF.
func (s *chunks) line(longest int) (string, error) {
	var b []byte
	for len(b) < longest+2 {
		c, err := s.in.ReadByte()
		if err != nil {
			return "", unexpected(err)
		}
		if b = append(b, c); c == '\n' {
			text, ok := bytes.CutSuffix(b, []byte("\r\n"))
			if !ok {
				return "", errChunks
			}
			return string(text), nil
		}
	}
	return "", errChunks
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// signingKey is the key of one day, region and service.
func signingKey(secret string, day time.Time, region, service string) []byte {
	key := []byte("AWS4" + secret)
	for _, part := range [...]string{day.Format("20060102"), region, service, ending} {
		key = hash(key, part)
	}
	return key
}

func hash(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

package gitcred

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// Socket is where the broker listens in every sandbox: an abstract unix socket
// (unix(7)), which belongs to the sandbox's network namespace as its other
// listeners do, so that there is no file to mount, guard or copy, and nobody
// outside can connect.
const Socket = "@sallyport/broker"

const (
	// answerTime bounds one call: git, and whoever waits for it, must not hang.
	answerTime = 10 * time.Second
	maxAnswer  = 1 << 20
)

// ErrNotBrokered says that the broker has nothing to do with the host.
var ErrNotBrokered = errors.New("not a brokered host")

// RefusedError is a refusal of the broker, in its own words.
type RefusedError struct {
	Code, Message, Hint, RequestID string
}

func (e *RefusedError) Error() string {
	text := e.Message + " " + e.Hint + " (" + e.Code
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text + ")"
}

// Client asks the broker at Socket, a path or "@" and an abstract name. It
// never goes through a proxy (ledger GB-14).
type Client struct{ Socket string }

// Get returns the credential for host and path. The error is ErrNotBrokered, a
// *[RefusedError], or says why the broker can't be asked.
func (c Client) Get(ctx context.Context, host, path string) (GetResponse, error) {
	var resp GetResponse
	err := c.call(ctx, PathGet, GetRequest{Host: host, Path: path}, &resp)
	if err == nil && resp.Password == "" {
		err = errors.New("the broker's answer has no password")
	}
	return resp, err
}

// Erase tells the broker that a password was refused.
func (c Client) Erase(ctx context.Context, host, path, password string) error {
	err := c.call(ctx, PathErase, EraseRequest{Host: host, Path: path, PasswordSHA256: Digest(password)}, nil)
	if errors.Is(err, ErrNotBrokered) {
		return nil
	}
	return err
}

// call speaks HTTP/1.0, whose answers end with the connection: net/http would
// make the helper three times as large.
func (c Client) call(ctx context.Context, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return fmt.Errorf("reach the broker: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.0\r\nHost: broker\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, len(body), body); err != nil {
		return fmt.Errorf("ask the broker: %w", err)
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxAnswer))
	if err != nil {
		return fmt.Errorf("ask the broker: %w", err)
	}
	return decode(answer, out)
}

// decode reads a whole HTTP response.
func decode(answer []byte, out any) error {
	r := textproto.NewReader(bufio.NewReader(bytes.NewReader(answer)))
	line, err := r.ReadLine()
	if err != nil {
		return errors.New("the broker closed the connection")
	}
	proto, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if err != nil || !strings.HasPrefix(proto, "HTTP/1.") {
		return errors.New("the broker doesn't speak HTTP")
	}
	if _, err := r.ReadMIMEHeader(); err != nil {
		return errors.New("the broker's answer is cut off")
	}
	body, err := io.ReadAll(r.R)
	if err != nil {
		return err
	}
	switch {
	case status == 204:
		return ErrNotBrokered
	case status != 200:
		var refused ErrorBody
		if json.Unmarshal(body, &refused) != nil || refused.Error.Code == "" {
			return fmt.Errorf("the broker answered status %d", status)
		}
		e := refused.Error
		return &RefusedError{Code: e.Code, Message: e.Message, Hint: e.Hint, RequestID: e.RequestID}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return errors.New("the broker's answer isn't JSON")
	}
	return nil
}

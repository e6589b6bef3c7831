package wire

import "errors"

// Error is a request that was rejected before any handler saw it, or whose
// body turned out to be malformed. Status is what the client is told, Msg is
// for the operator's log: it names what was wrong and never quotes the client.
type Error struct {
	Status int
	Msg    string
}

func (e *Error) Error() string { return "reject request: " + e.Msg }

func reject(status int, msg string) *Error { return &Error{Status: status, Msg: msg} }

// errClosedBody is what a handler gets that reads a request body after it has
// returned.
var errClosedBody = errors.New("read request body: request is over")

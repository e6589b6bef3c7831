package gitcred

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// The broker speaks HTTP with JSON on its socket. A repository of a host that
// isn't brokered is answered 204; a refusal is an [ErrorBody].
const (
	PathGet   = "/v1/git/credential"       // POST GetRequest → GetResponse
	PathErase = "/v1/git/credential/erase" // POST EraseRequest → 204
)

// GetRequest asks for the credential of one repository.
type GetRequest struct {
	Host string `json:"host"`
	Path string `json:"path"`
}

// GetResponse is that credential.
type GetResponse struct {
	Username  string    `json:"username"`
	Password  string    `json:"password"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// EraseRequest says that the forge refused a password. It carries its digest,
// because git may have got the password from somewhere else.
type EraseRequest struct {
	Host           string `json:"host"`
	Path           string `json:"path"`
	PasswordSHA256 string `json:"password_sha256"`
}

// ErrorBody is the shape of every refusal of the edge.
type ErrorBody struct {
	Error struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		Hint      string `json:"hint"`
		RequestID string `json:"request_id"`
	} `json:"error"`
}

// Digest returns the EraseRequest.PasswordSHA256 of a password.
func Digest(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

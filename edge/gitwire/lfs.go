package gitwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxBatch bounds the body of an LFS batch: git-lfs asks for a hundred objects
// at a time.
const MaxBatch = 1 << 20

// ReadBatch reads which way an LFS batch goes: "download" or "upload". The key
// must be there once, in any spelling that a lenient decoder takes for it.
func ReadBatch(body []byte) (operation string, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return "", errors.New("LFS batch: expected an object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", fmt.Errorf("LFS batch: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", fmt.Errorf("LFS batch: %w", err)
		}
		name, _ := key.(string)
		if !strings.EqualFold(name, "operation") {
			continue
		}
		if operation != "" || name != "operation" {
			return "", errors.New("LFS batch: the operation can be read in two ways")
		}
		if err := json.Unmarshal(value, &operation); err != nil {
			return "", errors.New("LFS batch: expected an operation")
		}
	}
	if _, err := d.Token(); err != nil {
		return "", fmt.Errorf("LFS batch: %w", err)
	}
	if d.More() || len(bytes.TrimSpace(body[d.InputOffset():])) > 0 {
		return "", errors.New("LFS batch: something follows the object")
	}
	if operation != "download" && operation != "upload" {
		return "", errors.New("LFS batch: unknown operation")
	}
	return operation, nil
}

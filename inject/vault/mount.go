package vault

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/vault/api"

	"github.com/sallyport/sallyport/inject/secret"
)

// kind is how a mount is read.
type kind int

const (
	issuing kind = iota // any engine but key/value
	kv1
	kv2
)

// mount is the server's answer about a mount.
type mount struct {
	path string // ends in a slash
	kind kind
}

// mounts remembers the server's answers. The zero value is ready.
type mounts struct {
	mu    sync.Mutex // guards known
	known map[string]mount
}

// find returns the mount that holds path, as remembered or as the server says.
func (m *mounts) find(ctx context.Context, c *api.Client, path string) (mount, bool, error) {
	m.mu.Lock()
	for prefix, known := range m.known {
		if strings.HasPrefix(path, prefix) {
			m.mu.Unlock()
			return known, true, nil
		}
	}
	m.mu.Unlock()
	found, err := askMount(ctx, c, path)
	if err != nil {
		return mount{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]mount{}
	}
	m.known[found.path] = found
	return found, false, nil
}

// forget drops what is remembered of a mount, which may be another by now.
func (m *mounts) forget(old mount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, old.path)
}

// askMount asks the server which mount holds path. It answers whoever may read
// anything below the mount.
func askMount(ctx context.Context, c *api.Client, path string) (mount, error) {
	answer, err := c.Logical().ReadWithContext(ctx, "sys/internal/ui/mounts/"+path)
	if err != nil {
		return mount{}, err
	}
	if answer == nil {
		return mount{}, fmt.Errorf("no mount: %w", secret.ErrNotFound)
	}
	at, _ := answer.Data["path"].(string)
	engine, _ := answer.Data["type"].(string)
	if at == "" || engine == "" || !strings.HasPrefix(path, at) {
		return mount{}, fmt.Errorf("unusable answer about the mount: %w", secret.ErrUnavailable)
	}
	found := mount{path: at}
	options, _ := answer.Data["options"].(map[string]any)
	switch {
	case engine != "kv" && engine != "generic":
		found.kind = issuing
	case options["version"] == "2":
		found.kind = kv2
	default:
		found.kind = kv1
	}
	return found, nil
}

package vault

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/sallyport/sallyport/inject/secret"
)

// maxCredential bounds a file with a token in bytes.
const maxCredential = 64 << 10

func minimumTLS() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12} }

// door logs in. It is safe for concurrent use.
type door struct {
	options Options

	mu       sync.Mutex // guards what follows
	wrapping string     // the wrapping token that secretID came in
	secretID string
}

// login returns a client that holds a new token, and for how long.
func (d *door) login(ctx context.Context) (*api.Client, term, error) {
	client, err := newClient(d.options)
	if err != nil {
		return nil, term{}, fmt.Errorf("%w: %w", secret.ErrUnavailable, err)
	}
	client = as(client, "", "")
	if d.options.Auth.Method == AuthToken {
		return d.bringToken(ctx, client)
	}
	data, err := d.proof(ctx, client)
	if err != nil {
		return nil, term{}, err
	}
	answer, err := client.Logical().WriteWithContext(ctx, "auth/"+d.options.Auth.Mount+"/login", data)
	if err != nil {
		return nil, term{}, refusal(err)
	}
	if answer == nil || answer.Auth == nil || answer.Auth.ClientToken == "" {
		return nil, term{}, fmt.Errorf("answer holds no token: %w", secret.ErrUnavailable)
	}
	client.SetToken(answer.Auth.ClientToken)
	return client, newTerm(time.Duration(answer.Auth.LeaseDuration)*time.Second, answer.Auth.Renewable), nil
}

// refusal is what a failed login came to. Vault says 400 of credentials that
// it doesn't know.
func refusal(err error) error {
	if code := status(err); code == 400 || code == 404 {
		return fmt.Errorf("server answered %d: %w", code, secret.ErrDenied)
	}
	return fault(err)
}

// bringToken takes the configured token and asks how long it lives.
func (d *door) bringToken(ctx context.Context, client *api.Client) (*api.Client, term, error) {
	token := d.options.Auth.Token
	if d.options.Auth.TokenFile != "" {
		var err error
		if token, err = readCredential(d.options.Auth.TokenFile); err != nil {
			return nil, term{}, err
		}
	}
	client.SetToken(token)
	self, err := client.Auth().Token().LookupSelfWithContext(ctx)
	if err != nil {
		return nil, term{}, fault(err)
	}
	ttl, err := self.TokenTTL()
	if err != nil {
		return nil, term{}, fault(err)
	}
	renewable, err := self.TokenIsRenewable()
	if err != nil {
		return nil, term{}, fault(err)
	}
	return client, newTerm(ttl, renewable), nil
}

// proof returns what the method's login endpoint wants.
func (d *door) proof(ctx context.Context, client *api.Client) (map[string]any, error) {
	a := d.options.Auth
	switch a.Method {
	case AuthAppRole:
		id, err := d.readSecretID(ctx, client)
		return map[string]any{"role_id": a.RoleID, "secret_id": id}, err
	case AuthCert:
		if a.Role == "" {
			return nil, nil
		}
		return map[string]any{"name": a.Role}, nil
	default: // by Options.complete: AuthKubernetes and AuthJWT
		jwt, err := readCredential(a.JWTFile)
		return map[string]any{"role": a.Role, "jwt": jwt}, err
	}
}

// readSecretID returns the secret id, which may have to be unwrapped first.
func (d *door) readSecretID(ctx context.Context, client *api.Client) (string, error) {
	content, err := readCredential(d.options.Auth.SecretIDFile)
	if err != nil || !d.options.Auth.SecretIDWrapped {
		return content, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wrapping == content {
		return d.secretID, nil
	}
	id, err := unwrap(ctx, client, content, d.options.Auth.Mount)
	if err != nil {
		return "", fmt.Errorf("unwrap secret id: %w", err)
	}
	d.wrapping, d.secretID = content, id
	return id, nil
}

// unwrap returns the secret id in a wrapping token. One that was made anywhere
// but where the role's secret ids are is refused: somebody may have opened the
// real one and wrapped another. One that has been opened is refused by the
// server, and a sign of the same.
func unwrap(ctx context.Context, client *api.Client, token, mount string) (string, error) {
	found, err := client.Logical().WriteWithContext(ctx, "sys/wrapping/lookup", map[string]any{"token": token})
	if err != nil {
		return "", refusal(err)
	}
	var origin string
	if found != nil {
		origin, _ = found.Data["creation_path"].(string)
	}
	if !strings.HasPrefix(origin, "auth/"+mount+"/role/") || !strings.HasSuffix(origin, "/secret-id") {
		return "", fmt.Errorf("wrapping token was not made for a secret id: %w", secret.ErrDenied)
	}
	opened, err := as(client, "", token).Logical().UnwrapWithContext(ctx, "")
	if err != nil {
		return "", refusal(err)
	}
	var id string
	if opened != nil {
		id, _ = opened.Data["secret_id"].(string)
	}
	if id == "" {
		return "", fmt.Errorf("wrapping token holds no secret id: %w", secret.ErrDenied)
	}
	return id, nil
}

// readCredential returns the content of a file without the white space around
// it.
func readCredential(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read credential: %w: %w", secret.ErrUnavailable, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxCredential))
	if err != nil {
		return "", fmt.Errorf("read credential: %w: %w", secret.ErrUnavailable, err)
	}
	text := strings.TrimSpace(string(content))
	if text == "" || secret.CheckHeader([]byte(text)) != nil {
		return "", fmt.Errorf("read credential: %s doesn't hold one: %w", path, secret.ErrUnavailable)
	}
	return text, nil
}

package inject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/inject/secret"
)

// Kind says what a binding does.
type Kind string

const (
	// KindSecret puts a secret into a header. It is the default.
	KindSecret Kind = "secret"
	// KindHoney binds nothing: the variable holds a placeholder that no program
	// has a reason to send, so whoever does has gone through the environment.
	KindHoney Kind = "honey"
	// KindGit binds nothing either: the variable holds a placeholder for git
	// credentials, which the edge puts in its place by itself. It comes of a
	// grant, never of a configuration.
	KindGit Kind = "git"
	// KindAWS signs requests anew that were signed with the placeholders (AWS
	// Signature Version 4). The secret is the secret access key, or a JSON
	// object with the whole key pair as "aws configure export-credentials"
	// prints it.
	KindAWS Kind = "aws_sigv4"
	// KindHMAC puts a keyed hash of the request into a header of every request.
	// The secret is the key.
	KindHMAC Kind = "hmac"
	// KindCertificate shows a client certificate to the host. The secret is the
	// chain and its key, PEM.
	KindCertificate Kind = "client_certificate"
	// KindClientCredentials puts an access token into a header that is had for a
	// client secret (RFC 6749 §4.4).
	KindClientCredentials Kind = "oauth2_client_credentials"
	// KindRefreshToken puts an access token into a header that is had for a
	// refresh token (RFC 6749 §6).
	KindRefreshToken Kind = "oauth2_refresh_token"
	// KindServiceAccount puts an access token into a header that is had for the
	// key of a Google service account, the JSON file as it is downloaded.
	KindServiceAccount Kind = "google_service_account"
	// kindCompanion holds a placeholder that belongs to another's, and is bound
	// to nothing by itself.
	kindCompanion Kind = "companion"
)

// kinds are those that a binding can have and that need a secret.
var kinds = map[Kind]func(Binding, *bound) *BindingError{
	KindSecret:            func(Binding, *bound) *BindingError { return nil },
	KindAWS:               Binding.compileAWS,
	KindHMAC:              Binding.compileHMAC,
	KindCertificate:       func(Binding, *bound) *BindingError { return nil },
	KindClientCredentials: Binding.compileOAuth2,
	KindRefreshToken:      Binding.compileOAuth2,
	KindServiceAccount:    Binding.compileServiceAccount,
}

// kindNames lists what Kind may be, for an error.
func kindNames() string {
	names := []string{string(KindHoney)}
	for kind := range kinds {
		names = append(names, string(kind))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// alone reports whether a kind has its variable to itself.
func (k Kind) alone() bool { return k == KindHoney || k == KindGit }

// exchanges reports whether what is sent is had for the secret, which stays.
func (k Kind) exchanges() bool {
	return k == KindClientCredentials || k == KindRefreshToken || k == KindServiceAccount
}

// signs reports whether the secret only signs.
func (k Kind) signs() bool { return k == KindAWS || k == KindHMAC }

// bears reports whether a credential is written into the header.
func (k Kind) bears() bool { return k == KindSecret || k.exchanges() }

// held is one value that a binding keeps from the sandbox. Once it is known, it
// is looked for in what leaves (decision 24), and taken out of what comes back
// (decision 23).
type held struct {
	index int
	env   string
	stand string     // what stands in for it
	ref   secret.Ref // zero: issued for another
	name  string     // of ref, for the record
	// public: not looked for, because it is no secret.
	public bool
	// inner are the values of a JSON object that are secrets by themselves, by
	// their keys.
	inner map[string]*held
}

// open returns the members of a value that is a JSON object; nil for any other.
func (h *held) open(value []byte) map[string]string {
	if len(h.inner) == 0 || !bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) {
		return nil
	}
	var object map[string]any
	if json.Unmarshal(value, &object) != nil {
		return nil
	}
	members := make(map[string]string, len(h.inner))
	for key := range h.inner {
		members[key], _ = object[key].(string)
	}
	return members
}

// Names of what a binding holds besides its secret.
const (
	partKeyID        = "access_key_id"
	partToken        = "session_token"
	partClientSecret = "client_secret"
	partIssued       = "issued"  // a credential that was had for the secret
	partRefresh      = "refresh" // a refresh token that came with it
)

// hold adds the secret that ref names, unless that is empty.
func (b *bound) hold(part, key, ref string) *BindingError {
	if ref == "" {
		return nil
	}
	parsed, err := secret.ParseRef(ref)
	if err != nil {
		return &BindingError{key, err.Error()}
	}
	b.more[part] = &held{ref: parsed, name: parsed.String()}
	return nil
}

// holds returns all that b keeps, the secret first.
func (b *bound) holds() []*held {
	if b.secret == nil {
		return nil
	}
	all := []*held{b.secret}
	for _, h := range b.secret.inner {
		all = append(all, h)
	}
	for _, part := range [...]string{partKeyID, partToken, partClientSecret, partIssued, partRefresh} {
		if h := b.more[part]; h != nil {
			all = append(all, h)
		}
	}
	return all
}

// checkOptions refuses options of another kind, and headers where the kind has
// its own.
func (b Binding) checkOptions(kind Kind) *BindingError {
	for _, one := range []struct {
		key  string
		is   bool
		want []Kind
	}{
		{"aws", b.AWS != nil, []Kind{KindAWS}},
		{"hmac", b.HMAC != nil, []Kind{KindHMAC}},
		{"oauth2", b.OAuth2 != nil, []Kind{KindClientCredentials, KindRefreshToken}},
		{"google", b.Google != nil, []Kind{KindServiceAccount}},
	} {
		if one.is && !slices.Contains(one.want, kind) {
			return &BindingError{one.key, fmt.Sprintf("not an option of kind %q", kind)}
		}
	}
	if kind.bears() {
		return nil
	}
	switch {
	case b.Mode != "":
		return &BindingError{"mode", fmt.Sprintf("kind %q has none", kind)}
	case b.Header != "" && kind != KindHMAC:
		return &BindingError{"header", fmt.Sprintf("kind %q has none", kind)}
	case b.Header == "" && kind == KindHMAC:
		return &BindingError{"header", "required"}
	case b.Format != "" && kind != KindHMAC:
		return &BindingError{"format", fmt.Sprintf("kind %q has none", kind)}
	}
	return nil
}

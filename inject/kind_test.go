package inject_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
)

// Ledger: SI-3, SI-14
func TestKindsRefuseWhatCantBeMeant(t *testing.T) {
	t.Parallel()
	const base = `"env":"A","host":"api.example.com","secret":"store:a"`
	cases := []struct{ json, path string }{
		{`"kind":"ssh",` + base, "kind"},
		{`"kind":"companion",` + base, "kind"},
		{`"aws":{},` + base, "aws"},
		{`"kind":"hmac","oauth2":{},"header":"X-Sig",` + base, "oauth2"},
		{`"kind":"aws_sigv4","header":"X-Key",` + base, "header"},
		{`"kind":"aws_sigv4","mode":"set",` + base, "mode"},
		{`"kind":"aws_sigv4","aws":{"region":"x"},` + base, "aws.region"},
		{`"kind":"aws_sigv4","aws":{"regions":["*"]},` + base, "aws.regions"},
		{`"kind":"aws_sigv4","aws":{"secret_env":"A"},` + base, "aws.secret_env"},
		{`"kind":"aws_sigv4","aws":{"secret_env":"a b"},` + base, "aws.secret_env"},
		{`"kind":"aws_sigv4","aws":{"access_key_id":"x","access_key_id_secret":"store:b"},` + base, "aws.access_key_id_secret"},
		{`"kind":"aws_sigv4","aws":{"session_token_secret":"b"},` + base, "aws.session_token_secret"},
		{`"kind":"hmac",` + base, "header"},
		{`"kind":"hmac","header":"Host",` + base, "header"},
		{`"kind":"hmac","header":"X-Sig","format":"v0=",` + base, "format"},
		{`"kind":"hmac","header":"X-Sig","hmac":{"hash":"md5"},` + base, "hmac.hash"},
		{`"kind":"hmac","header":"X-Sig","hmac":{"encoding":"rot13"},` + base, "hmac.encoding"},
		{`"kind":"hmac","header":"X-Sig","hmac":{"max_body":99999999},` + base, "hmac.max_body"},
		{`"kind":"hmac","header":"X-Sig","hmac":{"max_body":"1"},` + base, "hmac.max_body"},
		{`"kind":"hmac","header":"X-Sig","hmac":{"timestamp_header":"X-Sig"},` + base, "hmac.timestamp_header"},
		{`"kind":"hmac","header":"X-Sig","hmac":{"timestamp_header":"Host"},` + base, "hmac.timestamp_header"},
		{`"kind":"client_certificate","header":"X-A",` + base, "header"},
		{`"kind":"oauth2_client_credentials",` + base, "oauth2"},
		{`"kind":"oauth2_client_credentials","oauth2":{"token_url":"https://a.example.com/"},` + base, "oauth2.client_id"},
		{`"kind":"oauth2_client_credentials","oauth2":{"client_id":"c","token_url":"http://a.example.com/"},` + base, "oauth2.token_url"},
		{`"kind":"oauth2_client_credentials","oauth2":{"client_id":"c","token_url":"https://127.0.0.1/"},` + base, "oauth2.token_url"},
		{`"kind":"oauth2_client_credentials","oauth2":{"client_id":"c","token_url":"https://u:p@a.example.com/"},` + base, "oauth2.token_url"},
		{`"kind":"oauth2_client_credentials","oauth2":{"client_id":"c","token_url":"https://a.example.com/","params":{"grant_type":"password"}},` + base, "oauth2.params"},
		{`"kind":"oauth2_client_credentials","oauth2":{"client_id":"c","token_url":"https://a.example.com/","client_secret":"store:b"},` + base, "oauth2.client_secret"},
		{`"kind":"google_service_account",` + base, "google"},
		{`"kind":"google_service_account","google":{},` + base, "google"},
		{`"kind":"google_service_account","google":{"scopes":["a"],"audience":"b"},` + base, "google"},
		{`"kind":"google_service_account","google":{"scopes":["a"],"token_url":"https://[::1]/"},` + base, "google.token_url"},
	}
	for _, c := range cases {
		_, err := inject.ParseBindings([]byte("[{" + c.json + "}]"))
		var bad *inject.BindingError
		if !errors.As(err, &bad) || bad.Path != "bindings[0]."+c.path {
			t.Errorf("%s: %v, want an error about %s", c.json, err, c.path)
		}
	}
	certificates := `[{"kind":"client_certificate",` + base + `},{"kind":"client_certificate",` + strings.Replace(base, `"A"`, `"B"`, 1) + `}]`
	if _, err := inject.ParseBindings([]byte(certificates)); err == nil {
		t.Error("two certificates for one host were accepted")
	}
}

// An unknown performer is no reason to send a request as it is. Ledger: SI-11
func TestKindsNeedSomebodyToDoThem(t *testing.T) {
	t.Parallel()
	from := holding(t, map[string]string{"token": plain})
	for _, b := range []inject.Binding{
		{Kind: inject.KindAWS, Env: "K", Host: "api.example.com", Secret: "memory:token"},
		{Kind: inject.KindHMAC, Env: "K", Host: "api.example.com", Secret: "memory:token", Header: "X-Sig"},
		{Kind: inject.KindCertificate, Env: "K", Host: "api.example.com", Secret: "memory:token"},
		{Kind: inject.KindServiceAccount, Env: "K", Host: "api.example.com", Secret: "memory:token", Google: &inject.ServiceAccount{Audience: "a"}},
	} {
		set := compile(t, b)
		r := request("https://api.example.com/")
		if b.Header == "" && b.Kind != inject.KindCertificate {
			r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+set.Env()["K"]+"/x")
		}
		if _, err := set.Apply(t.Context(), r, https(t, "api.example.com"), from); !errors.Is(err, secret.ErrUnavailable) || strings.Contains(err.Error(), plain) {
			t.Errorf("%s: %v", b.Kind, err)
		}
	}
}

// Case: C17. Ledger: SI-4, SI-9
func TestPlaceholdersOfAKeyPair(t *testing.T) {
	t.Parallel()
	set := compile(t, inject.Binding{Kind: inject.KindAWS, Env: "AWS_ACCESS_KEY_ID", Host: "s3.example.com", Secret: "memory:token"})
	id, key := set.Env()["AWS_ACCESS_KEY_ID"], set.Env()["AWS_SECRET_ACCESS_KEY"]
	if !strings.HasPrefix(id, "AKIA") || len(key) != 40 {
		t.Fatalf("placeholders %q, %q", id, key)
	}
	from := inject.NewResolverWith(inject.ResolverOptions{
		Sources: map[string]secret.Source{"memory": fixed(plain)},
		Signers: map[inject.Kind]inject.Signer{inject.KindAWS: nil},
	})
	credential := id + "%2F20260101%2Fr%2Fs%2Faws4_request"
	cases := []struct {
		name, url, header, value string
		misuse                   bool
	}{
		{"secret key in a header", "/", "X-Key", key, true},
		{"secret key where the id goes", "/", "Authorization", "AWS4-HMAC-SHA256 Credential=" + key, true},
		{"id in another header", "/", "X-Key", id, true},
		{"id in another parameter", "/?X-Amz-Credentials=" + credential, "", "", true},
		{"id in the path", "/" + id, "", "", true},
		{"signature in the header", "/", "Authorization", "AWS4-HMAC-SHA256 Credential=" + id + "/…", false},
		{"signature in the URL", "/?a=b&X-Amz-Credential=" + credential, "", "", false},
		{"parameter escaped", "/?X%2dAmz-Credential=" + credential, "", "", false},
	}
	for _, c := range cases {
		r := request("https://s3.example.com" + c.url)
		r.RequestURI = ""
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		_, err := set.Apply(t.Context(), r, https(t, "s3.example.com"), from)
		var misuse *inject.MisuseError
		if errors.As(err, &misuse) != c.misuse || !c.misuse && !errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Nor is the id swapped by itself where it is an ordinary secret.
	set = compile(t, inject.Binding{Env: "AWS_ACCESS_KEY_ID", Host: "s3.example.com", Secret: "memory:token", Shape: "aws-access-key-id"})
	r := request("https://s3.example.com/", "Authorization", "AWS4-HMAC-SHA256 Credential="+set.Env()["AWS_ACCESS_KEY_ID"]+"/…")
	_, err := set.Apply(t.Context(), r, https(t, "s3.example.com"), from)
	var refused *inject.RequestError
	if !errors.As(err, &refused) || strings.Contains(r.Header.Get("Authorization"), plain) {
		t.Errorf("signed by a placeholder and swapped: %v", err)
	}
}

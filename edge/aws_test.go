package edge_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/sigv4"
)

const (
	awsKeyID  = "AKIAIOSFODNN7EXAMPLE"
	awsSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// python is Debian's, which has boto3 where .ci/setup has put it.
const python = "/usr/bin/python3"

func needBoto(t *testing.T) {
	t.Helper()
	if err := exec.Command(python, "-c", "import boto3").Run(); err != nil {
		t.Skipf("boto3 is missing: %v", err)
	}
}

// verifier is an origin that takes what is signed with the real key, by the
// word of another implementation.
type verifier struct {
	t *testing.T

	mu   sync.Mutex // one question at a time
	in   io.Writer
	out  *bufio.Reader
	seen []string // how each request was signed
}

func newVerifier(t *testing.T) *verifier {
	t.Helper()
	cmd := exec.Command(python, "testdata/aws_verify.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return &verifier{t: t, in: in, out: bufio.NewReader(out)}
}

// claim is what a request says of its signature.
type awsClaim struct {
	credential, signed, signature, date, way string
}

func claimOf(r *http.Request) (c awsClaim) {
	if query := r.URL.Query(); query.Has("X-Amz-Signature") {
		rest := strings.Split(r.URL.RawQuery, "&")
		var kept []string
		for _, p := range rest {
			if !strings.HasPrefix(p, "X-Amz-Signature=") {
				kept = append(kept, p)
			}
		}
		r.URL.RawQuery = strings.Join(kept, "&")
		return awsClaim{query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Signature"), query.Get("X-Amz-Date"), "presigned"}
	}
	for field := range strings.SplitSeq(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "), ", ") {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "Credential":
			c.credential = value
		case "SignedHeaders":
			c.signed = value
		case "Signature":
			c.signature = value
		}
	}
	c.date, c.way = r.Header.Get("X-Amz-Date"), r.Header.Get("X-Amz-Content-Sha256")
	if len(c.way) == 2*sha256.Size {
		c.way = "hash"
	}
	return c
}

func (v *verifier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		v.t.Error(err)
	}
	sum := sha256.Sum256(body)
	payload := hex.EncodeToString(sum[:])
	claim := claimOf(r)
	scope := strings.Split(claim.credential, "/")
	if len(scope) != 5 {
		v.t.Errorf("%s %s is not signed", r.Method, r.URL)
		return
	}
	if said := r.Header.Get("X-Amz-Content-Sha256"); claim.way == "hash" && said != payload {
		v.t.Errorf("%s %s: the body isn't what was signed", r.Method, r.URL)
	}
	if claim.way == "presigned" {
		payload = "UNSIGNED-PAYLOAD"
	}
	headers := map[string]string{}
	for name := range strings.SplitSeq(claim.signed, ";") {
		headers[name] = r.Header.Get(name)
	}
	headers["host"] = r.Host
	want := v.ask(map[string]any{
		"method": r.Method, "url": "https://" + r.Host + r.URL.RequestURI(), "headers": headers, "payload": payload,
		"key_id": awsKeyID, "secret": awsSecret, "region": scope[2], "service": scope[3], "date": claim.date,
	})
	if scope[0] != awsKeyID || claim.signature != want {
		v.t.Errorf("%s %s, %s: signed %s by %s, want %s", r.Method, r.URL, claim.way, claim.signature, scope[0], want)
	}
	v.mu.Lock()
	v.seen = append(v.seen, scope[3]+" "+claim.way)
	v.mu.Unlock()
	switch {
	case scope[3] == "sts":
		io.WriteString(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>a</Arn><UserId>u</UserId><Account>1</Account></GetCallerIdentityResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></GetCallerIdentityResponse>`)
	case r.Header.Get("Range") != "":
		w.Header().Set("Content-Range", "bytes 2-5/10")
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, "2345")
	case r.URL.Query().Has("list-type"):
		io.WriteString(w, `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name></ListBucketResult>`)
	}
}

func (v *verifier) ask(question map[string]any) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	line, err := json.Marshal(question)
	if err != nil {
		v.t.Fatal(err)
	}
	if _, err := v.in.Write(append(line, '\n')); err != nil {
		v.t.Error(err)
	}
	answer, err := v.out.ReadString('\n')
	if err != nil {
		v.t.Error(err)
	}
	return strings.TrimSpace(answer)
}

// A real client signs with placeholders, and an origin takes what arrives for
// signed with the real key: by the header, a presigned URL, unsigned payloads,
// streams with a trailer, and with no word on the payload. Case: C17
func TestBotoThroughTheEdge(t *testing.T) {
	t.Parallel()
	needBoto(t)
	b := newBed(t)
	b.opts.Resolver = inject.NewResolverWith(inject.ResolverOptions{
		Sources: map[string]secret.Source{"mem": b.secrets},
		Signers: map[inject.Kind]inject.Signer{inject.KindAWS: sigv4.Signer{}},
		TTL:     inject.DefaultTTL,
	})
	b.must(b.secrets.Set("aws", []byte(awsSecret)))
	v := newVerifier(t)
	var bindings []inject.Binding
	for _, service := range []string{"s3", "sts"} {
		b.origin(service+".allowed.test", v.ServeHTTP)
		bindings = append(bindings, inject.Binding{
			Kind: inject.KindAWS, Env: "AWS_ACCESS_KEY_ID", Host: service + ".allowed.test", Secret: "mem:aws",
			AWS: &inject.AWS{AccessKeyID: awsKeyID, Services: []string{service}, Regions: []string{"eu-central-1"}},
		})
	}
	env := b.put(boundary.Spec{ID: boxID, Bindings: bindings}, defaultPolicy)
	b.start()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	b.must(os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.opts.Authority.Certificate().Raw}), 0o600))
	cmd := exec.CommandContext(t.Context(), python, "testdata/aws_client.py", "http://"+b.proxy, bundle, env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"])
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.HasSuffix(bytes.TrimSpace(out), []byte("done")) {
		t.Fatalf("client: %v\n%s", err, out)
	}
	t.Logf("signed as %q", v.seen)
	seen := strings.Join(v.seen, ",")
	for _, way := range []string{"s3 UNSIGNED-PAYLOAD", "s3 hash", "s3 STREAMING-UNSIGNED-PAYLOAD-TRAILER", "s3 presigned", "sts "} {
		if !strings.Contains(seen, way) {
			t.Errorf("nothing was signed as %q", way)
		}
	}
	all, err := json.Marshal(b.recorded(len(v.seen)))
	b.must(err)
	if bytes.Contains(all, []byte(awsSecret)) || !bytes.Contains(all, []byte(`"aws_sigv4"`)) {
		t.Errorf("records hold the secret, or not the kind: %s", all)
	}
}

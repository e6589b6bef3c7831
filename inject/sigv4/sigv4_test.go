package sigv4_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/sigv4"
)

const (
	placeholder = "AKIASALLYABCDEFGHIJK"
	keyID       = "AKIAIOSFODNN7EXAMPLE"
	secretKey   = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	zeros       = "0000000000000000000000000000000000000000000000000000000000000000"
)

func signing(value string, options *inject.AWS) inject.Signing {
	if options == nil {
		options = &inject.AWS{}
	}
	if options.AccessKeyID == "" && !strings.HasPrefix(value, "{") {
		options.AccessKeyID = keyID
	}
	return inject.Signing{
		Options:     inject.Binding{Env: "AWS_ACCESS_KEY_ID", Secret: "store:aws", AWS: options},
		Placeholder: placeholder,
		Secret:      secret.NewValue([]byte(value)),
	}
}

// put is the request of the published examples of signed streams, as a client
// signs it with its placeholders.
func put(t testing.TB, mode, signed, body string, more ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://s3.amazonaws.com/examplebucket/chunkObject.txt", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"X-Amz-Date": {"20130524T000000Z"}, "X-Amz-Storage-Class": {"REDUCED_REDUNDANCY"},
		"X-Amz-Content-Sha256": {mode}, "Content-Encoding": {"aws-chunked"}, "X-Amz-Decoded-Content-Length": {"66560"},
		"Accept-Encoding": {"gzip"},
		"Authorization": {"AWS4-HMAC-SHA256 Credential=" + placeholder + "/20130524/us-east-1/s3/aws4_request, SignedHeaders=" +
			signed + ", Signature=" + zeros},
	}
	for i := 0; i < len(more); i += 2 {
		r.Header[more[i]] = []string{more[i+1]}
	}
	return r
}

// chunk is a chunk under somebody else's signature.
func chunk(content, signature string) string {
	return fmt.Sprintf("%x;chunk-signature=%s\r\n%s\r\n", len(content), signature, content)
}

// Signatures of https://docs.aws.amazon.com/AmazonS3/latest/API, "Signature
// Calculations for the Authorization Header: Transferring Payload in Multiple
// Chunks" and the same for trailing headers. Case: C17
func TestPublishedStreams(t *testing.T) {
	t.Parallel()
	a64k, a1k := strings.Repeat("a", 65536), strings.Repeat("a", 1024)
	cases := []struct {
		mode, headers, trailer string
		seed                   string
		chunks                 [3]string
		end                    string
	}{
		{
			mode:    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
			headers: "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class",
			seed:    "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
			chunks: [3]string{
				"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
				"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
				"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
			},
			end: "\r\n",
		},
		{
			mode:    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
			headers: "content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class;x-amz-trailer",
			seed:    "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
			chunks: [3]string{
				"b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
				"1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
				"2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
			},
			trailer: "x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:",
			end:     "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n",
		},
	}
	for _, c := range cases {
		write := func(signatures [3]string, end string) string {
			return chunk(a64k, signatures[0]) + chunk(a1k, signatures[1]) + "0;chunk-signature=" + signatures[2] + "\r\n" + c.trailer + end
		}
		sent := "\r\n"
		if c.trailer != "" {
			sent = zeros + "\r\n\r\n"
		}
		body := write([3]string{zeros, zeros, zeros}, sent)
		r := put(t, c.mode, c.headers, body)
		r.ContentLength = 66824
		if c.trailer != "" {
			r.Header["X-Amz-Trailer"] = []string{"x-amz-checksum-crc32c"}
		}
		r.Body = io.NopCloser(iotest.OneByteReader(strings.NewReader(body)))
		if err := (sigv4.Signer{}).Sign(t.Context(), r, signing(secretKey, nil)); err != nil {
			t.Fatal(err)
		}
		want := "AWS4-HMAC-SHA256 Credential=" + keyID + "/20130524/us-east-1/s3/aws4_request, SignedHeaders=" + c.headers + ", Signature=" + c.seed
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s: got  %s\nwant %s", c.mode, got, want)
		}
		got, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(write(c.chunks, c.end), string(got)); diff != "" || len(got) != len(body) {
			t.Errorf("%s: body of %d bytes became %d (-want +got):\n%s", c.mode, len(body), len(got), diff)
		}
	}
}

// Ledger: SI-11. Case: C17
func TestWhatCantBeSignedAnew(t *testing.T) {
	t.Parallel()
	const all = "host;x-amz-content-sha256;x-amz-date"
	good := func() *http.Request { return put(t, zeros, all, "") }
	cases := map[string]func(*http.Request){
		"another key":         func(r *http.Request) { edit(r, placeholder, "AKIASALLYZZZZZZZZZZZ") },
		"real key":            func(r *http.Request) { edit(r, placeholder, keyID) },
		"another service":     func(r *http.Request) { edit(r, "/s3/", "/iam/") },
		"another region":      func(r *http.Request) { edit(r, "us-east-1", "eu-central-1") },
		"asymmetric":          func(r *http.Request) { edit(r, "AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256") },
		"version 2":           func(r *http.Request) { r.Header["Authorization"] = []string{"AWS " + placeholder + ":c2ln"} },
		"bearer":              func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + placeholder} },
		"nothing":             func(r *http.Request) { delete(r.Header, "Authorization") },
		"two signatures":      func(r *http.Request) { r.URL.RawQuery = "X-Amz-Credential=" + placeholder },
		"host not signed":     func(r *http.Request) { edit(r, "host;", "") },
		"no date":             func(r *http.Request) { delete(r.Header, "X-Amz-Date") },
		"two dates":           func(r *http.Request) { r.Header.Add("X-Amz-Date", "20130524T000000Z") },
		"date of another day": func(r *http.Request) { r.Header["X-Amz-Date"] = []string{"20130525T000000Z"} },
		"scope with too much": func(r *http.Request) { edit(r, "/aws4_request", "/x/aws4_request") },
		"duplicate field":     func(r *http.Request) { edit(r, ", Signature=", ", Signature=1, Signature=") },
		"ambiguous query":     func(r *http.Request) { r.URL.RawQuery = "a=1;b=2" },
		"two payload hashes":  func(r *http.Request) { r.Header.Add("X-Amz-Content-Sha256", zeros) },
		"asymmetric payload": func(r *http.Request) {
			r.Header["X-Amz-Content-Sha256"] = []string{"STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"}
		},
		"unknown payload":      func(r *http.Request) { r.Header["X-Amz-Content-Sha256"] = []string{"STREAMING"} },
		"token in the URL too": func(r *http.Request) { r.URL.RawQuery = "X-Amz-Security-Token=x" },
	}
	limits := &inject.AWS{Services: []string{"s3"}, Regions: []string{"us-east-1", "us-west-2"}}
	if err := (sigv4.Signer{}).Sign(t.Context(), good(), signing(secretKey, limits)); err != nil {
		t.Fatalf("what is good: %v", err)
	}
	for name, spoil := range cases {
		r := good()
		spoil(r)
		err := sigv4.Signer{}.Sign(t.Context(), r, signing(secretKey, limits))
		var refused *inject.RequestError
		if !errors.As(err, &refused) {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
		if strings.Contains(fmt.Sprint(r.Header, r.URL), keyID) && name != "real key" {
			t.Errorf("%s: the real key id is in a request that was refused", name)
		}
	}
}

func edit(r *http.Request, old, with string) {
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), old, with, 1))
}

// Ledger: SI-11
func TestKeyPairs(t *testing.T) {
	t.Parallel()
	const all = "host;x-amz-content-sha256;x-amz-date;x-amz-security-token"
	pair := `{"Version":1,"AccessKeyId":"` + keyID + `","SecretAccessKey":"` + secretKey + `","SessionToken":"t0ken"}`
	plain, joint := put(t, zeros, all, ""), put(t, zeros, all, "")
	with := signing(secretKey, nil)
	with.Token = secret.NewValue([]byte("t0ken"))
	for r, by := range map[*http.Request]inject.Signing{plain: with, joint: signing(pair, nil)} {
		r.Header["X-Amz-Security-Token"] = []string{"the client's own"}
		if err := (sigv4.Signer{}).Sign(t.Context(), r, by); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(plain.Header, joint.Header); diff != "" || plain.Header.Get("X-Amz-Security-Token") != "t0ken" {
		t.Errorf("a key pair in one secret signs otherwise (-apart +joint):\n%s", diff)
	}
	for _, bad := range []string{`{"AccessKeyId":"` + keyID + `"}`, `{"SecretAccessKey":"x"}`, `{`, `{"AccessKeyId":"a/b","SecretAccessKey":"` + secretKey + `"}`} {
		err := sigv4.Signer{}.Sign(t.Context(), put(t, zeros, all, ""), signing(bad, nil))
		if !errors.Is(err, secret.ErrUnavailable) || strings.Contains(err.Error(), secretKey) {
			t.Errorf("%.20s…: %v", bad, err)
		}
	}
}

// A stream that isn't what it says breaks off, and nothing after the fault
// leaves. Case: C17
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	last := "0;chunk-signature=" + zeros + "\r\n\r\n"
	cases := map[string]string{
		"no signature":     "3\r\nabc\r\n" + last,
		"short signature":  "3;chunk-signature=00\r\nabc\r\n" + last,
		"too little":       chunk("abc", zeros)[:70],
		"too much":         "2;chunk-signature=" + zeros + "\r\nabc\r\n" + last,
		"bare line feeds":  strings.ReplaceAll(chunk("abc", zeros)+last, "\r\n", "\n"),
		"signed size":      "+3;chunk-signature=" + zeros + "\r\nabc\r\n" + last,
		"huge":             "7fffffff;chunk-signature=" + zeros + "\r\nabc\r\n" + last,
		"content after it": chunk("abc", zeros) + last + chunk("more", zeros),
		"never ends":       chunk("abc", zeros),
		"endless line":     strings.Repeat("3", 4096),
	}
	for name, body := range cases {
		r := put(t, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "host;x-amz-content-sha256;x-amz-date", body)
		if err := (sigv4.Signer{}).Sign(t.Context(), r, signing(secretKey, nil)); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		if err == nil || strings.Contains(string(got), "more") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A body whose hash the client doesn't name is read, as far as that is bounded.
func TestWholeBodies(t *testing.T) {
	t.Parallel()
	post := func(length int) *http.Request {
		r := put(t, zeros, "host;x-amz-date", strings.Repeat("x", length))
		delete(r.Header, "X-Amz-Content-Sha256")
		r.ContentLength = -1
		return r
	}
	r := post(inject.MaxSignedBody)
	if err := (sigv4.Signer{}).Sign(t.Context(), r, signing(secretKey, nil)); err != nil || r.ContentLength != inject.MaxSignedBody {
		t.Errorf("the longest body: %v, length %d", err, r.ContentLength)
	}
	var large *inject.TooLargeError
	if err := (sigv4.Signer{}).Sign(t.Context(), post(inject.MaxSignedBody+1), signing(secretKey, nil)); !errors.As(err, &large) {
		t.Errorf("a longer one: %v", err)
	}
}

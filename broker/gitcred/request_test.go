package gitcred_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/broker/gitcred"
)

const good = "protocol=https\nhost=github.com\npath=octo/app.git\n"

// Ledger: GB-4. Case: D19.
func TestReadRequest(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in string }{
		{"git 2.30", good + "\n"},
		{"git 2.41 with challenges", good + "wwwauth[]=Basic realm=\"GitHub\"\nwwwauth[]=Bearer\n\n"},
		{"git 2.46 with capabilities", "capability[]=authtype\ncapability[]=state\n" + good + "wwwauth[]=Basic realm=\"x\"\nstate[]=a\nstate[]=b\n\n"},
		{"keys that are to come", good + "oauth_refresh_token=x\noauth_refresh_token=y\nnew=1\n\n"},
		{"end without a blank line", good},
		{"end within a line", strings.TrimSuffix(good, "\n")},
		{"more behind the blank line", good + "\nhost=evil.test\n"},
		{"value with an equals sign", good + "username=a=b\n\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req, err := gitcred.ReadRequest(strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if req.Protocol != "https" || req.Host != "github.com" || req.Path != "octo/app.git" {
				t.Errorf("got %+v", req)
			}
			if req.Can("authtype") != strings.Contains(c.in, "=authtype") {
				t.Errorf("capabilities %q", req.Capabilities)
			}
		})
	}
}

func TestReadRequestEmptyValueResetsAList(t *testing.T) {
	t.Parallel()
	req, err := gitcred.ReadRequest(strings.NewReader("capability[]=authtype\ncapability[]=\ncapability[]=state\n" + good))
	if err != nil || !slices.Equal(req.Capabilities, []string{"state"}) {
		t.Errorf("got %q, %v", req.Capabilities, err)
	}
}

// refused are requests that no credential may answer.
var refused = []struct{ name, in string }{
	{"empty", ""},
	{"no host", "protocol=https\npath=octo/app\n\n"},
	{"empty host", "protocol=https\nhost=\npath=octo/app\n\n"},
	{"no protocol", "host=github.com\npath=octo/app\n\n"},
	{"second host", "protocol=https\nhost=evil.host\nhost=github.com\npath=o/r\n\n"},
	{"second path", good + "path=octo/other\n\n"},
	{"second protocol", good + "protocol=http\n\n"},
	{"second password", good + "password=a\npassword=b\n\n"},
	{"no equals sign", good + "password\n\n"},
	{"no key", good + "=x\n\n"},
	{"carriage return", "protocol=https\r\nhost=github.com\r\npath=octo/app\r\n\r\n"},
	{"carriage return in the host", "protocol=https\nhost=github.com\rx\npath=octo/app\n\n"},
	{"NUL", "protocol=https\nhost=github.com\x00.evil.test\npath=octo/app\n\n"},
	{"escape in a key that isn't known", good + "x=\x1b[2J\n\n"},
	{"invalid UTF-8", good + "username=\xff\n\n"},
	{"slash in the host", "protocol=https\nhost=github.com/evil\npath=octo/app\n\n"},
	{"user in the host", "protocol=https\nhost=github.com@evil.test\npath=octo/app\n\n"},
	{"percent in the host", "protocol=https\nhost=github.com%00\npath=octo/app\n\n"},
	{"fragment in the host", "protocol=https\nhost=github.com#x\npath=octo/app\n\n"},
	{"space in the host", "protocol=https\nhost=github.com evil\npath=octo/app\n\n"},
	{"percent in the path", "protocol=https\nhost=github.com\npath=octo/%2e%2e/victim/app\n\n"},
	{"too long a line", good + "x=" + strings.Repeat("a", 70<<10) + "\n\n"},
	{"too many lines", good + strings.Repeat("x=1\n", 300) + "\n"},
	{"too long without an end", strings.Repeat("a", 1<<20)},
}

// Ledger: GB-8. Case: D01, D04, D08.
func TestReadRequestRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if req, err := gitcred.ReadRequest(strings.NewReader(c.in)); err == nil {
				t.Errorf("accepted as %+v", req)
			} else if strings.Contains(err.Error(), "evil") {
				t.Errorf("the error quotes the input: %v", err)
			}
		})
	}
}

// What is accepted holds no control character, and reads the same when it is
// written in another order: no line of it depends on another.
func FuzzReadRequest(f *testing.F) {
	for _, c := range refused {
		if len(c.in) < 4096 {
			f.Add(c.in)
		}
	}
	f.Add("capability[]=authtype\n" + good + "username=u\npassword=p\nwwwauth[]=Basic\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		req, err := gitcred.ReadRequest(strings.NewReader(in))
		if err != nil {
			return
		}
		lines := []string{
			"password=" + req.Password, "username=" + req.Username, "path=" + req.Path,
			"host=" + req.Host, "protocol=" + req.Protocol,
		}
		for _, c := range req.Capabilities {
			lines = append(lines, "capability[]="+c)
		}
		for _, l := range lines {
			if strings.ContainsFunc(l, func(c rune) bool { return c < ' ' || c == 0x7f }) {
				t.Fatalf("control character in %q", l)
			}
		}
		if strings.ContainsAny(req.Host, "/@%# ") || req.Host == "" || strings.Contains(req.Path, "%") {
			t.Fatalf("accepted %+v", req)
		}
		again, err := gitcred.ReadRequest(strings.NewReader(strings.Join(lines, "\n") + "\n\n"))
		if err != nil {
			t.Fatalf("%+v isn't read again: %v", req, err)
		}
		if again.Protocol != req.Protocol || again.Host != req.Host || again.Path != req.Path ||
			again.Username != req.Username || again.Password != req.Password || !slices.Equal(again.Capabilities, req.Capabilities) {
			t.Fatalf("read again as %+v, was %+v", again, req)
		}
	})
}

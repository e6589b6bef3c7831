package broker_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/broker"
)

var paths = map[string]string{ // "" for those that are refused
	"octo/repo": "octo/repo", "Octo/Repo.git": "octo/repo", "octo/repo.wiki.git": "octo/repo", "octo/.github": "octo/.github",
	"octo/repo/info/lfs": "octo/repo/info/lfs", "octo/a.b_c-d": "octo/a.b_c-d", "octo/repo.git/info/lfs": "octo/repo",

	"": "", "octo": "", "octo/": "", "/octo": "", "/octo/repo": "", "octo/repo/": "", "octo/repo.git/": "", "octo//repo.git": "",
	"octo/repo.git?x=1": "", "octo/repo.git#frag": "", "octo/repo.git.git": "", "octo/.git": "", "octo/.wiki": "", "octo/repo.wiki.wiki": "",
	"octo/..": "", "octo/.": "", "../octo": "", "./octo": "", "octo/repo/../other.git": "", "octo/repo/../../victim/x": "", "octo/./repo": "",
	`octo\repo`: "", `octo/..\other`: "", "octo%2Frepo": "", "octo/%2e%2e": "", "octo/re%70o": "", "octo/repo\x00": "", "octo/repo\n": "",
	"octo/ repo": "", "-octo/repo": "", "octo/-repo": "", "octo/rep\u00f6": "", "octo/\u212aelvin": "", "user@octo/repo": "", "octo:443/repo": "",
	"octo/repo.git/info/lfs/../../../x": "",
	"a/b/c":                             "a/b/c", "Group/Sub/Repo.git": "group/sub/repo", "a/b/-/c": "", "a/b.git/c": "", "a//c": "",
}

// Ledger: GB-8. Case: D07, D08.
func TestCanonicalRepository(t *testing.T) {
	t.Parallel()
	paths["octo/"+strings.Repeat("a", 101)] = ""
	paths[strings.Repeat("a/", 21)+"b"] = ""
	for path, want := range paths {
		got, err := broker.CanonicalRepository(path)
		if got.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", path, got, err, want)
		}
	}
}

// A canonical repository is plain segments, two at least, and its own canonical form.
func FuzzCanonicalRepository(f *testing.F) {
	for path := range paths {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := broker.CanonicalRepository(path)
		if err != nil {
			if !got.IsZero() {
				t.Fatalf("%q: %v beside an error", path, got)
			}
			return
		}
		for _, spelling := range []string{got.String(), got.String() + ".git", strings.ToUpper(got.Owner()) + "/" + got.Name()} {
			if again, err := broker.CanonicalRepository(spelling); err != nil || again != got {
				t.Fatalf("%q is %v, but %q is %v, %v", path, got, spelling, again, err)
			}
		}
		segments := strings.Split(got.String(), "/")
		if len(segments) < 2 || strings.ContainsAny(got.String(), "%?#@:\\ ") {
			t.Fatalf("%q is %q", path, got)
		}
		for _, segment := range segments {
			if strings.Trim(segment, ".") == "" {
				t.Fatalf("%q is %q", path, got)
			}
		}
		if !strings.HasPrefix(strings.ToLower(path), got.String()) {
			t.Fatalf("%q is %q, which it doesn't begin with", path, got)
		}
	})
}

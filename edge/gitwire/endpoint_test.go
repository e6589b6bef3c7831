package gitwire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/gitwire"
)

func TestParseEndpoint(t *testing.T) {
	t.Parallel()
	type endpoint = gitwire.Endpoint
	cases := []struct {
		method, path, query string
		want                endpoint
	}{
		{"GET", "/octo/app.git/info/refs", "service=git-upload-pack", endpoint{Repository: "octo/app.git", Service: gitwire.Fetch, Advertises: true, Reads: true}},
		{"GET", "/octo/app/info/refs", "service=git-receive-pack", endpoint{Repository: "octo/app", Service: gitwire.Receive, Advertises: true, Reads: true}},
		{"POST", "/octo/app.git/git-upload-pack", "", endpoint{Repository: "octo/app.git", Service: gitwire.Fetch, Reads: true}},
		{"POST", "/a/b/c/app/git-receive-pack", "", endpoint{Repository: "a/b/c/app", Service: gitwire.Receive}},
		{"POST", "/octo/app.git/info/lfs/objects/batch", "", endpoint{Repository: "octo/app.git", Service: gitwire.LFS, Batch: true}},
		{"GET", "/octo/app.git/info/lfs/locks", "limit=1", endpoint{Repository: "octo/app.git", Service: gitwire.LFS, Reads: true}},
		{"PUT", "/octo/app.git/gitlab-lfs/objects/abc/12", "", endpoint{Repository: "octo/app.git", Service: gitwire.LFS}},
		{"GET", "/octo/app.git/info/lfs/objects/batch", "", endpoint{}},
		{"GET", "/octo/app.git/info/lfs/../../git-receive-pack", "", endpoint{}},
		{"GET", "/octo/app.git/info/refs", "", endpoint{}},
		{"GET", "/octo/app.git/info/refs", "service=git-upload-pack&service=git-receive-pack", endpoint{}},
		{"POST", "/octo/app.git/git-receive-pack", "x=1", endpoint{}},
		{"GET", "/octo/app.git/git-receive-pack", "", endpoint{}},
		{"POST", "/octo/app.git/git-receive-pack/", "", endpoint{}},
		{"POST", "//octo/app.git/git-receive-pack", "", endpoint{}},
		{"POST", "/octo/app.git/git%2Dreceive-pack", "", endpoint{}},
		{"POST", "/octo/%61pp.git/git-receive-pack", "", endpoint{}},
		{"GET", "/octo/app.git/HEAD", "", endpoint{}},
		{"GET", "/octo/app", "", endpoint{}},
		{"GET", "", "", endpoint{}},
	}
	for _, c := range cases {
		got, ok := gitwire.ParseEndpoint(c.method, c.path, c.query)
		if ok != (c.want != endpoint{}) || ok && got != c.want {
			t.Errorf("%s %s?%s: got %+v, %t", c.method, c.path, c.query, got, ok)
		}
	}
}

func TestLooksLikePush(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/a/b/git-receive-pack": true, "/a/b/git%2dreceive-pack": true, "/a/b/git%252Dreceive-pack": true, "/a/b/GIT-receive-pack/": true,
		"/a/b/git-upload-pack": false, "/a/b/%zz": false,
	} {
		if gitwire.LooksLikePush(path, "") != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
	if !gitwire.LooksLikePush("/a/b/info/refs", "service=git-receive%2Dpack") {
		t.Error("an escaped query isn't seen")
	}
}

func TestReadBatch(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"operation":"download","objects":[{"oid":"a","size":1}]}`: "download",
		`{"objects":[],"operation":"upload"} ` + "\n":               "upload",
		`{"operation":"download","operation":"upload"}`:             "",
		`{"operation":"download","Operation":"upload"}`:             "",
		`{"OPERATION":"upload"}`:                                    "",
		`{"operation":"verify"}`:                                    "",
		`{"operation":1}`:                                           "",
		`{"objects":[]}`:                                            "",
		`{"operation":"upload"}{}`:                                  "",
		`{"operation":"upload"`:                                     "",
		`[]`:                                                        "",
		``:                                                          "",
	} {
		if got, err := gitwire.ReadBatch([]byte(in)); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", in, got, err)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	p, err := gitwire.ReadPush(strings.NewReader(pkt(zero+" "+one+" refs/heads/a\x00report-status side-band-64k", zero+" "+one+" refs/heads/b", "")))
	if err != nil {
		t.Fatal(err)
	}
	got := p.Report("refused\x1b]0;x\a\nx", map[string]string{"refs/heads/a": "may not"})
	inner := pkt("unpack ok\n", "ng refs/heads/a may not\n", "ng refs/heads/b refused?]0;x??x\n", "")
	if want := pkt("\x02sallyport: refused?]0;x??x\n", "\x01"+inner, ""); string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	p.Capabilities = []string{"report-status-v2"}
	if got := p.Report("no", nil); !bytes.HasPrefix(got, []byte(pkt("unpack ok\n"))) {
		t.Errorf("without a side band: %q", got)
	}
	p.Capabilities = nil
	if p.Report("no", nil) != nil {
		t.Error("a report that nobody asked for")
	}
	if got := string(gitwire.Advertisement("no")); got != pkt("# service=git-receive-pack\n", "", "ERR no\n") {
		t.Errorf("advertisement %q", got)
	}
}

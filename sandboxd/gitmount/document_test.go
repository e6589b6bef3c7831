package gitmount_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/sandboxd/authorship"
	"github.com/sallyport/sallyport/sandboxd/gitmount"
)

func document(change func(*gitmount.Document)) gitmount.Document {
	d := gitmount.Document{Kind: "git", Repository: "octo/app", MountPath: "/workspace/app"}
	if change != nil {
		change(&d)
	}
	return d
}

// Ledger: GB-16.
func TestCompile(t *testing.T) {
	t.Parallel()
	depth := 0
	mounts, err := gitmount.Compile([]gitmount.Document{
		document(nil),
		{
			Kind: "git", Repository: "https://Git.Example.com/Octo/Site.git", Ref: "release/{{payload.n}}", Depth: &depth, MountPath: "/srv/site",
			Auth: &gitmount.Auth{Issuer: "forge", Access: broker.Write}, CommitAuthor: &authorship.Person{Name: "Bot", Email: "bot@example.com"}, LFS: true,
		},
	}, map[string]any{"n": 7.0})
	if err != nil {
		t.Fatal(err)
	}
	if m := mounts[0]; m.URL() != "https://github.com/octo/app.git" || m.Depth != 1 || m.Ref != "HEAD" || m.Submodules || m.LFS {
		t.Errorf("the defaults are %+v", m)
	}
	if m := mounts[1]; m.URL() != "https://git.example.com/Octo/Site.git" || m.Depth != 0 || m.Ref != "release/7" || !m.LFS ||
		m.Repository.String() != "octo/site" || m.Author.Name != "Bot" {
		t.Errorf("got %+v", m)
	}
}

// Ledger: GB-16, GB-20, GB-22, GB-31, FM-7. Case: D04, D08, D13.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	repository := func(s string) gitmount.Document {
		return document(func(d *gitmount.Document) { d.Repository = s })
	}
	at := func(s string) gitmount.Document { return document(func(d *gitmount.Document) { d.MountPath = s }) }
	ref := func(s string) gitmount.Document { return document(func(d *gitmount.Document) { d.Ref = s }) }
	depth := func(n int) gitmount.Document { return document(func(d *gitmount.Document) { d.Depth = &n }) }
	cases := map[string][]gitmount.Document{
		"kind":       {document(func(d *gitmount.Document) { d.Kind = "" })},
		"repository": nil, "mountPath": nil, "ref": nil,
		"depth": {depth(-1), depth(1_000_001)},
		"commitAuthor": {document(func(d *gitmount.Document) {
			d.CommitAuthor = &authorship.Person{Name: "A\nB", Email: "a@b"}
		})},
		"auth": {
			document(func(d *gitmount.Document) { d.Auth = &gitmount.Auth{} }),
			document(func(d *gitmount.Document) { d.Auth = &gitmount.Auth{Issuer: "g", Access: "admin"} }),
		},
	}
	for _, s := range []string{
		"", "app", "octo/app/x", "../octo/app", "octo/..", "http://github.com/octo/app", "ssh://git@github.com/octo/app", "git@github.com:octo/app",
		"git://github.com/octo/app", "file:///etc", "ext::sh -c id", "https://user:pw@github.com/octo/app", "https://github.com:8443/octo/app",
		"https://github.com/octo/app?x=1", "https://github.com/octo/app#x", "https://github.com/octo/app#", "https://github.com/octo%2Fapp",
		"https://github.com/octo/app/../other", "https://github.com/octo//app", "https:github.com/octo/app", "https:///octo/app", "https://10.0.0.1/octo/app", "https://[::1]/octo/app", "https://github.com/octo/group/app",
		"https://github.com/octo/app.wiki", "-octo/app", "octo/app\n", "https://git hub.com/octo/app", "octo/app.git.git",
	} {
		cases["repository"] = append(cases["repository"], repository(s))
	}
	for _, s := range []string{
		"", "app", "/", "/workspace/", "/workspace/../etc", "/workspace//app", "/etc", "/etc/x", "/usr/local/app", "/home", "/home/user", "/proc/1",
		"/opt/sallyport/x", "/opt", "/var", "/workspace/.managed-agents/x", "/workspace/.venv", "/workspace/app/.git/hooks", "/workspace/a\nb", "/workspace/a\x00", "/root/x",
		"/workspace/" + strings.Repeat("a", 1100),
	} {
		cases["mountPath"] = append(cases["mountPath"], at(s))
	}
	for _, s := range []string{"-upload-pack=x", "--depth=1", "a b", "a\nb", "a:b", "+a", "a^", "a~1", "a..b", "@", "a@{1}", "/a", "a/", "a//b", ".a", "a.lock", "a/.b", "a*", "a?", "a[", `a\b`, "a\x7f", "a.", strings.Repeat("a", 300), "\xff"} {
		cases["ref"] = append(cases["ref"], ref(s))
	}
	for field, documents := range cases {
		for _, d := range documents {
			_, err := gitmount.Compile([]gitmount.Document{document(func(d *gitmount.Document) { d.MountPath = "/first" }), d}, nil)
			var e *gitmount.DocumentError
			if !errors.As(err, &e) || e.Code != gitmount.CodeInvalid || e.Path != "git_mounts[1]."+field {
				t.Errorf("%s of %+v: error %v", field, d, err)
			}
		}
	}
}

// Ledger: GB-22.
func TestMountsAreApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		ok   bool
	}{
		{"/workspace/a", "/workspace/a", false}, {"/workspace/a", "/workspace/a/b", false}, {"/workspace/a/b", "/workspace/a", false},
		{"/workspace", "/workspace/a", false}, {"/workspace/a", "/workspace/ab", true}, {"/workspace/a", "/srv/a", true},
	} {
		var documents []gitmount.Document
		for _, p := range []string{c.a, c.b} {
			documents = append(documents, document(func(d *gitmount.Document) { d.MountPath = p }))
		}
		if _, err := gitmount.Compile(documents, nil); (err == nil) != c.ok {
			t.Errorf("%s and %s: error %v", c.a, c.b, err)
		}
	}
}

// Ledger: GB-19.
func TestRefTemplates(t *testing.T) {
	t.Parallel()
	var payload any
	d := json.NewDecoder(strings.NewReader(`{"a": {"b": {"c": "topic"}, "n": 12, "t": true, "none": null, "list": ["x"], "evil": "--upload-pack=x", "again": "{{payload.a.n}}"}}`))
	if err := d.Decode(&payload); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		ref, want string
		code      gitmount.Code
	}{
		{"", "HEAD", ""},
		{"main", "main", ""},
		{"{{payload.a.b.c}}", "topic", ""},
		{"refs/pull/{{ payload.a.n }}/head", "refs/pull/12/head", ""},
		{"{{payload.a.b.c}}-{{payload.a.n}}-{{payload.a.t}}", "topic-12-true", ""},
		{"{{payload.a.evil}}", "", gitmount.CodeInvalid},
		{"{{payload.a.again}}", "{{payload.a.n}}", ""}, // a name like any other
		{"{{payload.a}}", "", gitmount.CodeUnresolved},
		{"{{payload.a.list}}", "", gitmount.CodeUnresolved},
		{"{{payload.a.list.0}}", "", gitmount.CodeUnresolved},
		{"{{payload.a.none}}", "", gitmount.CodeUnresolved},
		{"{{payload.x}}", "", gitmount.CodeUnresolved},
		{"{{payload}}", "", gitmount.CodeUnresolved},
		{"{{env.HOME}}", "", gitmount.CodeUnresolved},
		{"{{payload.a.n", "", gitmount.CodeUnresolved},
		{"{{}}", "", gitmount.CodeUnresolved},
	}
	for _, c := range cases {
		t.Run(c.ref, func(t *testing.T) {
			t.Parallel()
			mounts, err := gitmount.Compile([]gitmount.Document{document(func(d *gitmount.Document) { d.Ref = c.ref })}, payload)
			var e *gitmount.DocumentError
			switch {
			case c.code == "" && (err != nil || mounts[0].Ref != c.want):
				t.Errorf("got %+v, %v", mounts, err)
			case c.code != "" && (!errors.As(err, &e) || e.Code != c.code || e.Path != "git_mounts[0].ref"):
				t.Errorf("error %v", err)
			}
		})
	}
}

// What is taken for a ref is one to git, and no option.
//
// Ledger: GB-20.
func FuzzRef(f *testing.F) {
	for _, s := range []string{"main", "a/b", "a.lock", "@", "-x", "{{payload.a}}", "\u00e9", "a@{", "refs/heads/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		mounts, err := gitmount.Compile([]gitmount.Document{document(func(d *gitmount.Document) { d.Ref = ref })}, map[string]any{"a": ref})
		if err != nil {
			return
		}
		got := mounts[0].Ref
		if strings.HasPrefix(got, "-") || strings.ContainsAny(got, " :^~\n\x00") {
			t.Fatalf("ref %q", got)
		}
		if out, err := exec.Command("git", "check-ref-format", "--allow-onelevel", got).CombinedOutput(); err != nil {
			t.Fatalf("git refuses %q: %v %s", got, err, out)
		}
	})
}

// Ledger: GB-23.
func TestAuthorise(t *testing.T) {
	t.Parallel()
	mount := func(issuer string, access broker.Access) []gitmount.Mount {
		mounts, err := gitmount.Compile([]gitmount.Document{document(func(d *gitmount.Document) {
			d.Auth = &gitmount.Auth{Issuer: issuer, Access: access}
		})}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return mounts
	}
	project := func(access broker.Access) []broker.Grant {
		g := broker.Grant{Repository: "Octo/App", Access: access, Issuer: "g", GitAuth: broker.AuthEdge}
		if access == broker.Write {
			g.Push = &broker.Push{Refs: []string{"refs/heads/agent/*"}}
		}
		return []broker.Grant{{Repository: "octo/other", Issuer: "g"}, g}
	}
	cases := []struct {
		name   string
		mounts []gitmount.Mount
		held   []broker.Grant
		access broker.Access // empty: refused
	}{
		{"read", mount("g", broker.Read), project(broker.Read), broker.Read},
		{"write covers read", mount("g", ""), project(broker.Write), broker.Read},
		{"write", mount("g", broker.Write), project(broker.Write), broker.Write},
		{"the wider of two", append(mount("g", ""), mount("g", broker.Write)...), project(broker.Write), broker.Write},
		{"the wider of two, the other way", append(mount("g", broker.Write), mount("g", "")...), project(broker.Write), broker.Write},
		{"read doesn't cover write", mount("g", broker.Write), project(""), ""},
		{"other issuer", mount("h", broker.Read), project(broker.Read), ""},
		{"nothing held", mount("g", broker.Read), nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			grants, err := gitmount.Authorise(c.mounts, c.held)
			var e *gitmount.Error
			if c.access == "" {
				if !errors.As(err, &e) || e.Code != gitmount.CodeNotGranted || e.Mount != "/workspace/app" || len(grants) > 0 {
					t.Errorf("got %+v, error %v", grants, err)
				}
				return
			}
			// What the operator has narrowed stays so.
			if err != nil || len(grants) != 1 || grants[0].Access != c.access || grants[0].GitAuth != broker.AuthEdge || (grants[0].Push != nil) != (c.access == broker.Write) {
				t.Fatalf("got %+v, error %v", grants, err)
			}
			if _, err := broker.Compile(grants); err != nil {
				t.Error(err)
			}
		})
	}
	public, err := gitmount.Compile([]gitmount.Document{document(nil)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if grants, err := gitmount.Authorise(public, nil); err != nil || len(grants) > 0 {
		t.Errorf("a mount without auth needs %+v, %v", grants, err)
	}
	if _, err := gitmount.Authorise(public, []broker.Grant{{Repository: "x"}}); err == nil {
		t.Error("broken grants were taken")
	}
}

// Ledger: GB-24.
func TestWorkdir(t *testing.T) {
	t.Parallel()
	mounts, err := gitmount.Compile([]gitmount.Document{document(nil)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		mounts []gitmount.Mount
		asked  string
		want   string
		ok     bool
	}{
		{"neither", nil, "", "", true},
		{"first mount", mounts, "", "/workspace/app", true},
		{"absolute", mounts, "/srv/x/../y", "/srv/y", true},
		{"absolute alone", nil, "/srv", "/srv", true},
		{"relative", mounts, "web/src", "/workspace/app/web/src", true},
		{"relative to itself", mounts, "web/..", "/workspace/app", true},
		{"escape", mounts, "../other", "", false},
		{"deep escape", mounts, "a/../../other", "", false},
		{"relative to nothing", nil, "web", "", false},
		{"control character", mounts, "a\nb", "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := gitmount.Workdir(c.mounts, c.asked)
			var e *gitmount.DocumentError
			if got != c.want || (err == nil) != c.ok || err != nil && (!errors.As(err, &e) || e.Path != "working_directory") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

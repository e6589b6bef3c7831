package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/integration/harness"
)

// A tool is a client that knows nothing of us, and the hosts that it is
// configured for on this machine.
type tool struct {
	name   string
	hosts  []string
	flags  []string // where the hosts are
	files  map[string]string
	script string // run by sh in a workspace of its own with files
	proof  string // printed once the work is done

	anyWay bool // whether it heeds proxy variables depends on its version
}

// Real clients do real work through the edge with a policy that holds only the
// host that each is configured for, and are refused without it; told of the
// proxy and not.
//
// Ledger: NP-18, NP-21, ED-6, ED-18, ED-36
func TestRealTools(t *testing.T) {
	t.Parallel()
	for _, tool := range tools(t) {
		for _, way := range ways {
			t.Run(tool.name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				command := append(slices.Clone(way.prefix), "sh", "-euc", tool.script)

				res := sandbox(t, asRoot, allow(tool.in(t), tool.hosts...), command...)
				res.want(t, 0)
				contains(t, res.stdout, tool.proof)
				for _, r := range res.audit {
					if !slices.Contains(tool.hosts, r.Host) && r.Verdict != "deny" {
						t.Errorf("%s reached %s, which it isn't configured for: %+v", tool.name, r.Host, r)
					} else if r.Verdict == "allow" && r.Mode != "dns" && r.Mode != way.name && !tool.anyWay {
						t.Errorf("crossed by another way than %s: %+v", way.name, r)
					}
				}
				if len(requests(res.audit, tool.hosts[0])) == 0 {
					t.Errorf("audit has no crossing to %s: %+v", tool.hosts[0], res.audit)
				}

				res = sandbox(t, asRoot, allow(tool.in(t), "unrelated.example.test"), command...)
				if res.code == 0 || strings.Contains(res.stdout, tool.proof) {
					t.Errorf("%s worked without its host\nstdout: %s\nstderr: %s", tool.name, clip(res.stdout), clip(res.stderr))
				}
				denied(t, res, tool.hosts[0], "network_policy_denied")
				for _, r := range res.audit {
					if r.Verdict != "deny" {
						t.Errorf("something was reached: %+v", r)
					}
				}
			})
		}
	}
}

// in returns the tool's flags with a new workspace that holds its files.
func (tl tool) in(t *testing.T) []string {
	t.Helper()
	dir := share(t)
	for name, text := range tl.files {
		write(t, dir, name, text)
	}
	return append(slices.Clone(tl.flags), "--workspace", dir)
}

func tools(t *testing.T) []tool {
	t.Helper()
	npm := configured(t, harness.NPM)
	web := strings.TrimSuffix(npm.URL, "/") + "/has-flag"
	plain := func(name, script string) tool {
		return tool{name: name, hosts: npm.Hosts, flags: reach(t, npm), script: fmt.Sprintf(script, web), proof: "has-flag 200"}
	}
	node := plain("node fetch", `node -e 'fetch("%s").then(r => console.log("has-flag", r.status))'`)
	node.anyWay = true
	return []tool{
		npmInstall(t, npm), goModDownload(t), apt(t), gitCloneAndPush(t), node,
		plain("curl", `curl -sS --max-time 60 -o body -w 'has-flag %%{http_code}\n' %s`),
		plain("python urllib", `/usr/bin/python3 -c 'import urllib.request; print("has-flag", urllib.request.urlopen("%s").status)'`),
	}
}

func npmInstall(t *testing.T, registry harness.Registry) tool {
	return tool{
		name: "npm", hosts: registry.Hosts,
		flags:  append(reach(t, registry), "--env", "npm_config_registry="+registry.URL),
		files:  map[string]string{"package.json": `{"name": "job", "private": true, "dependencies": {"chalk": "4.1.2"}}`},
		script: `npm install --no-audit --no-fund --loglevel=http; node -p 'require("chalk").blue("installed") && "chalk works"'`,
		proof:  "chalk works",
	}
}

func goModDownload(t *testing.T) tool {
	registry := configured(t, harness.GoProxy)
	return tool{
		name: "go", hosts: registry.Hosts,
		flags:  append(reach(t, registry), "--env", "GOPROXY="+registry.URL),
		files:  map[string]string{"go.mod": "module job\n\ngo 1.26\n\nrequire github.com/spf13/cobra v1.10.2\n"},
		script: `export HOME=$PWD PATH=$PATH:/usr/local/go/bin:/usr/lib/go/bin; go mod download all; ls "$HOME/go/pkg/mod/github.com/spf13"`,
		proof:  "pflag@",
	}
}

// apt works in a tree of its own: Debian's own sources, and what this machine's
// configuration says of fetching.
func apt(t *testing.T) tool {
	registry := configured(t, harness.Debian)
	config, err := exec.Command("apt-config", "dump").Output()
	if err != nil {
		t.Fatalf("ask apt for its configuration: %v", err)
	}
	fetching := regexp.MustCompile(`(?m)^Acquire::(Check-|Allow|Retries|Languages).*$`).FindAllString(string(config), -1)
	sources, err := os.ReadFile(registry.URL)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Base(registry.URL)
	return tool{
		name: "apt", hosts: registry.Hosts, flags: reach(t, registry),
		files: map[string]string{
			list: string(sources), "status": "",
			"apt.conf": strings.Join(fetching, "\n") + `
Dir::Etc::sourcelist "/workspace/` + list + `"; Dir::Etc::sourceparts "-"; Dir::Etc::trustedparts "/usr/share/keyrings";
Dir::State "/workspace"; Dir::State::status "/workspace/status"; Dir::Cache "/workspace/cache"; Dir::Log "/workspace";
APT::Update::Error-Mode "any";
`,
		},
		script: `export APT_CONFIG=/workspace/apt.conf; mkdir -p lists/partial cache/archives/partial; apt-get update; apt-get download hostname; ls hostname_*.deb`,
		proof:  "hostname_",
	}
}

func gitCloneAndPush(t *testing.T) tool {
	const host = "git.example.test"
	dir := share(t)
	if _, err := harness.NewRepository(dir, "repo.git"); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, host)
	git, err := harness.GitHandler(dir, "/git/")
	if err != nil {
		t.Fatal(err)
	}
	w.Handle("/git/", git)
	return tool{
		name: "git", hosts: []string{host}, flags: w.flags(),
		script: `export HOME=$PWD; git config --global user.name Job; git config --global user.email job@example.com
git clone -q https://` + host + `/git/repo.git; cd repo
head -c 3000000 /dev/urandom >big; git add big; git commit -qm 'add a big file'
branch=job-$(date +%s%N); git push -q origin HEAD:refs/heads/$branch; git ls-remote origin $branch`,
		proof: "refs/heads/job-",
	}
}

func configured(t *testing.T, ask func() (harness.Registry, error)) harness.Registry {
	t.Helper()
	r, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// reach lists the registry's addresses of today, so that a mirror in a private
// network can be dialled.
func reach(t *testing.T, r harness.Registry) []string {
	t.Helper()
	cidrs, err := r.CIDRs()
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	for _, c := range cidrs {
		flags = append(flags, "--upstream-cidr", c)
	}
	return flags
}

package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/environment/script"
)

// corpus has for each code scripts that give it, with the lines on which, and
// scripts that don't. The codes about a save come from no script.
var corpus = map[string]struct {
	fires []fires
	quiet []string
}{
	script.BashLCWrapper: {
		fires: []fires{
			{"bash -lc 'npm ci'\n", "1"},
			{"sudo bash -lc \"echo x\"\n", "1"},
			{"true\n/bin/bash --login -c 'make'\n", "2"},
			{"bash -l -c make\n", "1"},
			{"env A=1 bash -o pipefail -lc make\n", "1"},
			{"if true; then\n  bash -cl 'make'\nfi\n", "2"},
			{"timeout 60 sh -lc make\n", "1"},
		},
		quiet: []string{
			"# bash -lc 'npm ci'\n",
			"echo \"bash -lc make\"\n",
			"cat <<'EOF' > run.sh\nbash -lc make\nEOF\n",
			"bash -c make\n",
			"bash -l ./build.sh\n",
			"bash ./build.sh -lc\n",
			"command -v bash -lc\n",
		},
	},
	script.CurlPipeSh: {
		fires: []fires{
			{"curl -fsSL https://get.example.com | sh\n", "1"},
			{"true\nwget -qO- https://get.example.com | sudo -E bash -\n", "2"},
			{"curl -fsSL https://x.test |\n  bash -s -- --yes\n", "1"},
			{"bash <(curl -fsSL https://x.test)\n", "1"},
			{"sh -c \"$(curl -fsSL https://x.test)\"\n", "1"},
			{"eval \"$(curl -fsSL https://x.test)\"\n", "1"},
			{"source <(curl -fsSL https://x.test)\n", "1"},
			{"curl https://x.test | tee log | gunzip | bash\n", "1"},
			{"{ curl https://x.test; } | (cd /tmp && bash)\n", "1"},
			{"bash <<< \"$(curl https://x.test)\"\n", "1"},
			{"bash -c 'curl https://x.test | sh'\n", "1"},
			{"f() {\n curl https://x.test | env -i sh\n}\n", "2"},
		},
		quiet: []string{
			"# curl https://x.test | sh\n",
			"echo 'curl https://x.test | sh'\n",
			"cat <<EOF\ncurl https://x.test | sh\nEOF\n",
			"curl -fsSL https://x.test | tar -xz\n",
			"curl -o install.sh https://x.test && bash install.sh\n",
			"cat install.sh | bash\n",
			"curl https://x.test | bash ./filter.sh\n",
			"curl https://x.test | jq .sh\n",
			"bash ./build.sh \"$(curl https://x.test/version)\"\n",
		},
	},
	script.UnpinnedInstall: {
		fires: []fires{
			{"pip install requests\n", "1"},
			{"/workspace/.venv/bin/pip install 'requests>=2'\n", "1"},
			{"uv pip install --python .venv/bin/python ruff\n", "1"},
			{"python3 -m pip install -U pip\n", "1"},
			{"sudo apt-get update\nsudo apt-get install -y --no-install-recommends jq tree=2.1\n", "2"},
			{"DEBIAN_FRONTEND=noninteractive apt-get -y install jq\n", "1"},
			{"apt-get install jq=*\n", "1"},
			{"npm install -g typescript\n", "1"},
			{"npm i typescript@latest\n", "1"},
			{"npm install @scope/pkg\n", "1"},
			{"npm install express@^4.0.0\n", "1"},
			{"yarn global add serve\n", "1"},
			{"pnpm add react@next\n", "1"},
			{"cargo install ripgrep --locked\n", "1"},
			{"go install example.com/cmd@latest\n", "1"},
			{"gem install rails\n", "1"},
			{"uv tool install ruff\n", "1"},
			{"uv add httpx\n", "1"},
			{"pipx install poetry\n", "1"},
			{"conda install -y -c forge numpy\n", "1"},
			{"apk add curl\n", "1"},
			{"pip install \\\n  a==1 \\\n  b\n", "1"},
			{"pip install git+https://git@example.com/r\n", "1"},
			{"sudo bash -c 'true\napt-get install jq'\n", "2"},
			{"for p in a b; do npm install $p left-pad; done\n", "1"},
		},
		quiet: []string{
			"# pip install requests\n",
			"echo \"pip install requests\"\n",
			"cat <<'EOF'\nnpm install -g typescript\nEOF\n",
			"pip install requests==2.32.3 'ruff==0.5.*'\n",
			"pip install -r requirements.txt\n",
			"pip install -c constraints.txt requests\n",
			"pip install --require-hashes -r r.txt\n",
			"pip install . ./lib[test] dist/x-1.0-py3-none-any.whl\n",
			"pip install \"requests==$VERSION\" \"$PACKAGE\"\n",
			"pip install git+https://example.com/r@v1\n",
			"npm ci\n", "npm install\n", "npm install typescript@5.4.2 @scope/pkg@1.0.0\n", "npm run install\n", "npm install ./local octo/app#v1\n",
			"apt-get update\n", "apt-get install -y jq=1.6-2 tree='2.*'\n", "apt-get install ./x.deb\n", "apt-get remove jq\n", "sudo apt-get install -y \"${packages[@]}\"\n",
			"cargo install ripgrep --version 14.1.0\n", "cargo install ripgrep@14.1.0\n", "cargo build\n", "cargo install --path .\n",
			"go install ./cmd/...\n", "go install example.com/cmd@v1.2.3\n", "go get example.com/m@v1.0.0\n",
			"gem install rails -v 7.1.0\n", "gem install rails:7.1.0\n",
			"uv tool install ruff@0.5.0\n", "uv sync --frozen\n", "uv pip install -r requirements.lock\n",
			"conda install numpy=1.26\n", "apk add curl=8.5.0-r0\n", "dnf install -y jq-1.6\n",
			"which pip install\n",
		},
	},
	script.RmRfRoot: {
		fires: []fires{
			{"rm -rf /\n", "1"},
			{"sudo rm -rf --no-preserve-root \"/\"\n", "1"},
			{"rm -rf /*\n", "1"},
			{"true && rm -r -f //\n", "1"},
			{"rm -rf /usr /tmp/x\n", "1"},
			{"rm -rf /var/*\n", "1"},
			{"rm -fr /workspace/../\n", "1"},
			{"rm -rf /{bin,etc}\n", "1"},
			{"find / -name '*.pyc' -delete\n", "1"},
			{"bash -c 'rm -rf /'\n", "1"},
			{"echo \"$(rm -rf /etc)\"\n", "1"},
			{"trap cleanup EXIT\ncleanup() {\n  rm --recursive /\n}\n", "3"},
		},
		quiet: []string{
			"# rm -rf /\n",
			"echo 'rm -rf /'\n",
			"cat <<'EOF'\nrm -rf /\nEOF\n",
			"rm -rf /tmp/build /workspace/node_modules\n",
			"rm -rf ./*\n",
			"rm -rf /var/lib/apt/lists/*\n",
			"rm -rf \"$HOME/.cache\"\n",
			"rm -rf '/*'\n",
			"rm /etc/x.conf\n",
			"find /workspace -name '*.pyc' -delete\n",
			"find / -name python3\n",
			"git rm -rf /\n",
			"rm -rf -- -/\n",
		},
	},
	script.AmbiguousSystemPython: {
		fires: []fires{
			{"python3 setup.py\n", "1"},
			{"pip install requests==2.0\n", "1"},
			{"true\n/usr/bin/python3 -m pip install x==1\n", "2"},
			{"sudo pip3 install x==1\n", "1"},
			{". .venv/bin/activate\nsudo pip install x==1\n", "2"},
			{"env python app.py\n", "1"},
			{"(source .venv/bin/activate)\npython app.py\n", "2"},
			{"python3 - <<'EOF'\nprint(1)\nEOF\n", "1"},
			{"python3.11 -c 'print(1)' | tee x\n", "1"},
			{"uv pip install --system x==1\n", "1"},
		},
		quiet: []string{
			"# python3 setup.py\n",
			"echo \"python3 setup.py\"\n",
			"cat <<'EOF' > a.sh\npython3 setup.py\nEOF\n",
			"python3 -m venv /workspace/.venv\n",
			"/workspace/.venv/bin/python app.py\n",
			".venv/bin/pip install x==1\n",
			"source /workspace/.venv/bin/activate\npython app.py\n",
			"export PATH=\"/workspace/.venv/bin:$PATH\"\npip install x==1\n",
			"python3 --version\n",
			"command -v python3\n",
			"uv run python app.py\n",
			"uv pip install x==1\n",
			"apt-get install -y python3=3.11.2-1\n",
		},
	},
	script.PathClobber: {
		fires: []fires{
			{"PATH=/opt/bin\n", "1"},
			{"export PATH=/usr/bin:/bin\n", "1"},
			{"true\ndeclare -x PATH=\"$HOME/bin\"\n", "2"},
			{"PATH=\n", "1"},
			{"unset PATH\n", "1"},
			{"export A=1 PATH=\"$(getconf DARWIN_DIR)\"\n", "1"},
			{"if true; then\n  PATH='$PATH:/x'\nfi\n", "2"},
		},
		quiet: []string{
			"# PATH=/opt/bin\n",
			"echo 'export PATH=/opt/bin' >> ~/.profile\n",
			"cat <<'EOF'\nPATH=/x\nEOF\n",
			"export PATH=\"/opt/bin:$PATH\"\n",
			"PATH=\"${PATH:+$PATH:}/opt/bin\"\n",
			"PATH+=:/opt/bin\n",
			"export PATH\n",
			"PATH=/usr/bin:/bin make\n",
			"saved=$PATH\nPATH=$saved\n",
			"MANPATH=/x\n",
			"PATH=$(echo /x:$PATH)\n",
			"unset -f PATH\n",
		},
	},
	script.NonpersistentShellActivation: {
		fires: []fires{
			{"source .venv/bin/activate\n", "1"},
			{". /workspace/.venv/bin/activate\n", "1"},
			{"export NVM_DIR=\"$HOME/.nvm\"\n. \"$NVM_DIR/nvm.sh\"\n", "2"},
			{"nvm use 20\n", "1"},
			{"conda activate dev\n", "1"},
			{"eval \"$(pyenv init -)\"\n", "1"},
			{"eval \"$(ssh-agent -s)\"\n", "1"},
			{"source ~/.bashrc\n", "1"},
			{". \"$HOME/.cargo/env\"\n", "1"},
			{"source <(fnm env)\n", "1"},
			{"[ -d .venv ] && source .venv/bin/activate\n", "1"},
		},
		quiet: []string{
			"# source .venv/bin/activate\n",
			"echo 'source .venv/bin/activate'\n",
			"cat <<'EOF' >> README\nconda activate dev\nEOF\n",
			"source ./lib.sh\n",
			". /etc/os-release\n",
			"(source .venv/bin/activate && make)\n",
			"conda create -n dev python=3.11\n",
			"nvm install 20\n",
			"eval \"$cmd\"\n",
			"export FOO=1\n",
			"grep activate .venv/bin/activate\n",
		},
	},
}

type fires struct {
	text  string
	lines string
}

// Ledger: SV-44
// Ledger: SV-45
func TestWarnings(t *testing.T) {
	t.Parallel()
	for code, cases := range corpus {
		if len(cases.fires) < 5 || len(cases.quiet) < 5 {
			t.Errorf("%s has too few cases", code)
		}
		for _, c := range cases.fires {
			if got := linesOf(script.Read(c.text).Warnings(), code); got != c.lines {
				t.Errorf("%s on lines %q, want %q:\n%s", code, got, c.lines, c.text)
			}
		}
		for _, text := range cases.quiet {
			if got := linesOf(script.Read(text).Warnings(), code); got != "" {
				t.Errorf("%s on lines %q, want none:\n%s", code, got, text)
			}
		}
	}
}

func linesOf(warnings []script.Warning, code string) string {
	var lines []string
	for _, w := range warnings {
		if w.Code == code {
			lines = append(lines, fmt.Sprint(w.Line))
		}
	}
	return strings.Join(lines, " ")
}

// Ledger: SV-44
func TestWarningsAreInOrderAndBounded(t *testing.T) {
	t.Parallel()
	got := script.Read("curl https://x.test | sh\npip install a\npip install b; pip install c\n").Warnings()
	var list []string
	for _, w := range got {
		list = append(list, fmt.Sprintf("%d %s", w.Line, w.Code))
		if w.Message == "" {
			t.Errorf("%s has no message", w.Code)
		}
	}
	want := []string{"1 curl_pipe_sh", "2 ambiguous_system_python", "2 unpinned_install", "3 ambiguous_system_python", "3 unpinned_install"}
	if !slices.Equal(list, want) {
		t.Errorf("warnings %q, want %q", list, want)
	}
	if n := len(script.Read(strings.Repeat("pip install a\n", 4000)).Warnings()); n != script.MaxWarnings {
		t.Errorf("%d warnings", n)
	}
}

// A script that Bash will refuse is advised on as far as it can be read.
func TestWarningsOfWhatDoesNotParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rm -rf /\nif true; then\n": "1",
		"echo 'open\nrm -rf /\n":    "",
		")\nrm -rf /\n":             "",
		"rm -rf /\nfoo() { \n":      "1",
	} {
		if got := linesOf(script.Read(text).Warnings(), script.RmRfRoot); got != want {
			t.Errorf("lines %q, want %q:\n%s", got, want, text)
		}
	}
}

// Ledger: SV-45
func TestAdviceAboutASave(t *testing.T) {
	t.Parallel()
	for code, w := range map[string]script.Warning{
		script.VerifyNotStarted: script.NotStarted("4 runs are in flight"), script.LegacySetupDiscarded: script.Discarded(),
	} {
		if w.Code != code || w.Line != 0 || w.Message == "" {
			t.Errorf("%s: %+v", code, w)
		}
	}
}

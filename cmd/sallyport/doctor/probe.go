package doctor

import (
	"embed"
	"io/fs"
	"path"
	"runtime"
)

// Dir is where the files of the probes stand in a sandbox.
const Dir = "/etc/sallyport/doctor"

// Program is where a copy of this program stands in a sandbox: it is the probe
// of Go's own TLS, by its command "probe".
const Program = "/tmp/sallyport-probe"

// A Probe shows that one runtime gets through the edge.
type Probe struct {
	// Name of the runtime, such as "node fetch".
	Name string
	// Have is a shell command that prints the version in one line. The runtime
	// is absent if it fails or prints nothing.
	Have string
	// Run is a shell command that asks the origin at $URL (https, $HOST alone)
	// and prints the $ANSWER that it gives. It runs in an empty directory of
	// its own, which is its home too.
	Run string
	// Trust is the variable or store by which the runtime trusts the edge, as
	// [Judge] advises it.
	Trust string
	// Bare probes clear their environment: there is but one way to run them.
	Bare bool
}

// Names of what isn't a variable.
const (
	systemStore = "the distribution's store"
	grpcRoots   = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"
)

// present is a Have for a command whose first line of output names its version.
func present(command, version string) string {
	return "command -v " + command + " >/dev/null && " + version + " 2>&1 | grep -v JAVA_TOOL_OPTIONS | head -n 1"
}

// module is a Have for a module of Python.
func module(name string) string {
	return `python3 -c 'import ` + name + `, sys; print(sys.version.split()[0], "` + name + `", ` + name + `.__version__)'`
}

// linkedTLS prints which TLS library a program is linked with, or nothing.
const linkedTLS = ` | grep -oE 'lib(curl-)?(gnutls|ssl)' | sort -u | tr '\n' ' '`

// Probes returns all probes, in the order of a report.
func Probes() []Probe {
	var all []Probe
	for _, some := range [][]Probe{commands, interpreters, java, packageManagers} {
		all = append(all, some...)
	}
	return all
}

var commands = []Probe{
	{Name: "curl", Have: present("curl", "curl --version"), Run: `curl -sS "$URL/"`, Trust: "CURL_CA_BUNDLE"},
	{Name: "curl without variables", Have: present("curl", "curl --version"), Run: `env -i PATH="$PATH" curl -sS "$URL/"`, Trust: systemStore, Bare: true},
	{Name: "wget", Have: `command -v wget >/dev/null && wget --version | grep -oE '^GNU Wget [0-9.]+|ssl/[a-z]+' | tr '\n' ' '`,
		Run: `wget -q -t 1 -O - "$URL/"`, Trust: systemStore},
	{Name: "git", Have: `command -v git >/dev/null && echo "$(git --version) $(ldd "$(git --exec-path)/git-remote-https"` + linkedTLS + `)"`,
		Run: `git ls-remote "$URL/repository.git"`, Trust: "GIT_SSL_CAINFO"},
	{Name: "openssl s_client", Have: present("openssl", "openssl version"), Run: `
if [ -n "$HTTPS_PROXY" ]; then set -- -proxy "${HTTPS_PROXY#http://}"; fi
{ printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$HOST"; sleep 2; } |
openssl s_client -quiet -verify_return_error -verify_hostname "$HOST" -servername "$HOST" -connect "$HOST:443" "$@"`,
		Trust: "SSL_CERT_FILE"},
	{Name: "gnutls-cli", Have: present("gnutls-cli", "gnutls-cli --version"),
		Run:   `{ printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$HOST"; sleep 2; } | gnutls-cli "$HOST"`,
		Trust: systemStore},
	{Name: "go", Have: "test -x " + Program + " && echo " + runtime.Version(), Run: Program + ` probe "$URL/"`, Trust: "SSL_CERT_FILE"},
}

var interpreters = []Probe{
	{Name: "node fetch", Have: present("node", "node --version"), Run: `node ` + Dir + `/probe.cjs fetch "$URL/"`, Trust: "NODE_EXTRA_CA_CERTS"},
	{Name: "node https", Have: present("node", "node --version"), Run: `node ` + Dir + `/probe.cjs https "$URL/"`, Trust: "NODE_EXTRA_CA_CERTS"},
	{Name: "node ws", Have: `command -v node >/dev/null && node ` + Dir + `/probe.cjs ws`,
		Run: `node ` + Dir + `/probe.cjs ws "wss://$HOST/socket"`, Trust: "NODE_EXTRA_CA_CERTS"},
	{Name: "deno", Have: present("deno", "deno --version"),
		Run: `deno eval 'console.log(await (await fetch(Deno.env.get("URL") + "/")).text())'`, Trust: "DENO_CERT"},
	{Name: "python urllib", Have: present("python3", "python3 --version"), Run: `python3 ` + Dir + `/probe.py urllib "$URL/"`, Trust: "SSL_CERT_FILE"},
	{Name: "python requests", Have: module("requests"), Run: `python3 ` + Dir + `/probe.py requests "$URL/"`, Trust: "REQUESTS_CA_BUNDLE"},
	{Name: "python httpx", Have: module("httpx"), Run: `python3 ` + Dir + `/probe.py httpx "$URL/"`, Trust: "SSL_CERT_FILE"},
	{Name: "python grpc", Have: module("grpc"), Run: `python3 ` + Dir + `/probe.py grpc "$HOST:443"`, Trust: grpcRoots},
	{Name: "ruby", Have: present("ruby", "ruby --version"), Run: `ruby -ropen-uri -e 'print URI.open(ENV["URL"] + "/").read'`, Trust: "SSL_CERT_FILE"},
}

var java = []Probe{
	{Name: "java HttpsURLConnection", Have: present("java", "java -version"), Run: `java -Xshare:auto -XX:TieredStopAtLevel=1 -cp ` + Dir + ` Probe connection "$URL/"`, Trust: "JAVA_TOOL_OPTIONS"},
	{Name: "java HttpClient", Have: present("java", "java -version"), Run: `java -Xshare:auto -XX:TieredStopAtLevel=1 -cp ` + Dir + ` Probe client "$URL/"`, Trust: "JAVA_TOOL_OPTIONS"},
}

var packageManagers = []Probe{
	{Name: "pip", Have: `python3 -m pip --version`,
		Run:   `python3 -m pip download -q --retries 0 --no-deps --no-cache-dir --disable-pip-version-check --no-input -i "$URL/simple/" doctor-probe && ls`,
		Trust: "PIP_CERT"},
	{Name: "npm", Have: present("npm", "npm --version"),
		Run:   `npm view --fetch-retries=0 --no-update-notifier --cache ./cache --registry "$URL/npm/" doctor-probe version`,
		Trust: "npm_config_cafile"},
	{Name: "cargo", Have: present("cargo", "cargo --version"),
		Run:   `CARGO_HOME=$PWD CARGO_NET_RETRY=0 cargo search --index "sparse+$URL/cargo/" doctor-probe`,
		Trust: "CARGO_HTTP_CAINFO"},
	{Name: "bundler", Have: present("bundle", "bundle --version"), Run: `
printf 'source "%s"\ngem "doctor-probe"\n' "$URL/gems" >Gemfile
BUNDLE_RETRY=0 bundle lock && cat Gemfile.lock`, Trust: "BUNDLE_SSL_CA_CERT"},
	{Name: "apt", Have: present("apt-get", "apt-get --version"), Run: `
mkdir -p lists/partial cache/archives/partial && : >status
echo "deb [trusted=yes] $URL/apt ./" >sources.list
cat >apt.conf <<EOF
Dir::Etc::sourcelist "$PWD/sources.list"; Dir::Etc::sourceparts "-"; Dir::State "$PWD"; Dir::State::status "$PWD/status";
Dir::Cache "$PWD/cache"; Dir::Log "$PWD"; APT::Update::Error-Mode "any"; Acquire::Retries "0"; Acquire::Languages "none";
EOF
export APT_CONFIG=$PWD/apt.conf
apt-get update && apt-cache show doctor-probe`, Trust: systemStore},
}

//go:generate javac --release 11 -g:none -d probes probes/Probe.java
//go:embed probes/*
var embedded embed.FS

// Files returns the files that the probes need, by their paths in a sandbox.
// The program itself is the caller's to put at [Program].
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	entries, err := fs.ReadDir(embedded, "probes")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := fs.ReadFile(embedded, path.Join("probes", e.Name()))
		if err != nil {
			return nil, err
		}
		files[path.Join(Dir, e.Name())] = data
	}
	return files, nil
}

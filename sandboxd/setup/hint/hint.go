// Package hint recognises why a setup script failed, from how it ended and what
// it said last, and says what is likely to mend it (ledger SV-19).
//
// It is pure. What it doesn't recognise has no hint: a wrong one costs more
// than none.
package hint

import (
	"regexp"
	"strings"
)

// Code names a cause. Codes never change meaning.
type Code string

// The codes.
const (
	NoSpace              Code = "no_space"
	Timeout              Code = "timeout"
	OutOfMemory          Code = "out_of_memory"
	NetworkBlocked       Code = "network_blocked"
	DNSBlocked           Code = "dns_blocked"
	UntrustedCertificate Code = "untrusted_certificate"
	PackageNotFound      Code = "package_not_found"
	NotRoot              Code = "not_root"
	PermissionDenied     Code = "permission_denied"
	CommandNotFound      Code = "command_not_found"
)

// A Failure is how a script ended.
type Failure struct {
	ExitCode  int
	TimedOut  bool
	Exhausted bool   // the memory limit killed it
	Output    string // the last lines of both streams, without escape sequences
}

// Hint is a cause and its likely fix, one or two sentences. The zero value is
// none.
type Hint struct {
	Code Code
	Text string
}

// Exit codes of a shell.
const (
	exitNotFound = 127
	exitKilled   = 137
)

// Recognise returns the hint for a failure. The causes are in an order in which
// one that brings others about comes before them.
func Recognise(f Failure) Hint {
	switch {
	case f.TimedOut:
		return known(Timeout)
	case f.Exhausted:
		return known(OutOfMemory)
	}
	for _, c := range causes {
		if c.pattern.MatchString(f.Output) && (c.exit == 0 || c.exit == f.ExitCode) {
			return known(c.code)
		}
	}
	switch f.ExitCode {
	case exitKilled:
		return known(OutOfMemory)
	case exitNotFound:
		return known(CommandNotFound)
	}
	return Hint{}
}

func known(code Code) Hint { return Hint{code, texts[code]} }

type cause struct {
	code    Code
	exit    int // the exit code that it needs; 0: any
	pattern *regexp.Regexp
}

// words makes a pattern of alternatives, each a pattern itself, of any case.
func words(alternatives ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?im)` + strings.Join(alternatives, "|"))
}

var causes = []cause{
	{NoSpace, 0, words(`no space left on device`, `\bENOSPC\b`, `disk quota exceeded`, `not enough free disk space`,
		`you don't have enough free space`, `insufficient (?:disk )?space`)},
	{OutOfMemory, 0, words(`out of memory`, `cannot allocate memory`, `\bMemoryError\b`, `\bENOMEM\b`, `std::bad_alloc`,
		`^.{0,80}\bKilled$`, `signal: killed`, `terminated by signal SIGKILL`)},
	{NetworkBlocked, 0, words(`blocked by sallyport`, `network_policy_denied`, `private_address`, `port_denied`,
		`proxy.{0,60}\b403\b`, `\b403\b.{0,60}\bproxy\b`, `connect tunnel failed, response 403`, `tunnel connection failed: 403`)},
	{DNSBlocked, 0, words(`could(?:n't| not) resolve`, `temporary failure in name resolution`, `name or service not known`,
		`temporary failure resolving`, `nodename nor servname`, `no address associated with hostname`, `\bENOTFOUND\b`, `\bEAI_AGAIN\b`,
		`lookup .{0,100}: (?:no such host|server misbehaving)`, `failed to lookup address`, `dns error`)},
	{UntrustedCertificate, 0, words(`certificate verify failed`, `ssl certificate problem`, `self[- ]signed certificate`,
		`unable to get (?:local )?issuer certificate`, `unable_to_verify_leaf_signature`, `certificate signed by unknown authority`,
		`unable to locally verify the issuer`, `certificate is not trusted`, `invalid peer certificate`, `pkix path building failed`)},
	{PackageNotFound, 0, words(`unable to locate package`, `has no installation candidate`, `no matching distribution found`,
		`could not find a version that satisfies`, `no matching package`, `\bE404\b`, `404 not found - get`, `package .{0,80} (?:is )?not found in`,
		`no solution found when resolving dependencies`, `couldn't find any package by`)},
	{NotRoot, 0, words(`are you root`, `must be (?:run as )?root`, `requires? (?:superuser|root) privileg`, `you need to be root`,
		`this (?:script|command|program) must be run as root`, `only root can`, `superuser access is required`,
		`(?:apt|dpkg).{0,200}permission denied`, `could not open lock file`)},
	{PermissionDenied, 0, words(`permission denied`, `\bEACCES\b`, `operation not permitted`, `\bEPERM\b`, `read-only file system`)},
	{CommandNotFound, exitNotFound, words(`command not found`, `: not found$`, `no such file or directory`)},
}

var texts = map[Code]string{
	NoSpace:              "The disk is full. Raise pvc_size_gi, or have the script remove what it doesn't need, such as package caches.",
	Timeout:              "The script took longer than setup.timeout_seconds. Raise it, up to 3600, or do less in the script.",
	OutOfMemory:          "The sandbox ran out of memory. Raise resources.memory_mib, or build with fewer parallel jobs.",
	NetworkBlocked:       "The network policy doesn't allow a host that the script needs. Add an allow rule for it to network_policy.",
	DNSBlocked:           "A host name wasn't resolved, which is what happens to hosts that the network policy doesn't allow. Add an allow rule for it to network_policy, and check its spelling.",
	UntrustedCertificate: "A program doesn't trust the certificate of the connection. Let it use the system's certificates: the sandbox's variables, such as SSL_CERT_FILE, name the bundle.",
	PackageNotFound:      "A package or version doesn't exist where it was looked for. Check its name and version, and run apt-get update before apt-get install.",
	NotRoot:              "A command needs root. Put sudo in front of it.",
	PermissionDenied:     "The script may not do this as the sandbox's user. Write below /workspace or /home/user, or put sudo in front of the command.",
	CommandNotFound:      "A command isn't installed, or isn't in PATH. Install it earlier in the script, or call it by its full path.",
}

// Text returns the likely fix for a code; empty for one that isn't known.
func Text(code Code) string { return texts[code] }

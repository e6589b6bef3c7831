package redact

import "regexp"

// shape is what a kind of credential looks like. Where the pattern has a group,
// that is the secret and the rest shows what it was.
type shape struct {
	kind string
	// hints are in lower case; a line that the pattern matches has one of them.
	hints   []string
	pattern *regexp.Regexp
}

// URL is the kind of a URL with a user in it.
const URL = "password in a URL"

// shapes never match across a line. A pattern that ends in a repetition goes on
// for as long as the credential does.
var shapes = []shape{
	{"private key", []string{"private key"}, regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)`)},
	{"authorization", []string{"authorization", "api-key", "-token", "cookie"}, regexp.MustCompile(`(?i)(?:authorization|x-api-key|x-goog-api-key|api-key|x-auth-token|x-amz-security-token|private-token|job-token|x-vault-token|set-cookie|cookie)["'\\]*\s*[:=]\s*["'\\]*([^\s"'\\][^\r\n"'\\]*)`)},
	{"bearer token", []string{"bearer"}, regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{12,})`)},
	{URL, []string{"@"}, regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#"'<>@]+)@`)},
	{"GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{16,}`)},
	{"GitHub token", []string{"github_pat_"}, regexp.MustCompile(`github_pat_[A-Za-z0-9_]{16,}`)},
	{"GitLab token", []string{"glpat-", "glcbt-", "glptt-", "gldt-", "glrt-", "glagent-", "glsoat-", "glft-", "glimt-"}, regexp.MustCompile(`gl(?:pat|cbt|ptt|dt|rt|agent|soat|ft|imt)-[A-Za-z0-9_-]{16,}`)},
	{"secret key", []string{"sk-"}, regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`)},
	{"payment key", []string{"k_live_", "k_test_"}, regexp.MustCompile(`\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}`)},
	{"AWS key", []string{"akia", "asia", "abia", "acca"}, regexp.MustCompile(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}`)},
	{"Google key", []string{"aiza"}, regexp.MustCompile(`AIza[A-Za-z0-9_-]{30,}`)},
	{"Google token", []string{"ya29."}, regexp.MustCompile(`\bya29\.[A-Za-z0-9_-]{16,}`)},
	{"Slack token", []string{"xox"}, regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)},
	{"npm token", []string{"npm_"}, regexp.MustCompile(`\bnpm_[A-Za-z0-9]{24,}`)},
	{"PyPI token", []string{"pypi-"}, regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{24,}`)},
	{"model hub token", []string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{24,}`)},
	{"Vault token", []string{"hvs.", "hvb.", "hvr."}, regexp.MustCompile(`\bhv[sbr]\.[A-Za-z0-9_-]{20,}`)},
	{"API key", []string{"sp_"}, regexp.MustCompile(`\bsp_[A-Za-z0-9_-]{20,}`)},
	{"JWT", []string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*|\.[A-Za-z0-9_-]*$|$)`)},
}

// keyBegin and keyBody are the lines of a private key (RFC 7468).
var (
	keyBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	keyEnd   = regexp.MustCompile(`-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	keyBody  = regexp.MustCompile(`^[\s|>#"'+\\nr-]*(?:[A-Za-z0-9+/=]*|(?:Proc-Type|DEK-Info|Version|Comment|Hash): .*)[\s"',\\nr]*$`)
)

// terminal are the escape sequences of terminals (ECMA-48 §5.4, and operating
// system commands).
var terminal = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[PX^_][^\x1b]*(?:\x1b\\\\)?|[ -/]*[0-~])")

// Plain returns text without the escape sequences of terminals.
func Plain(text []byte) []byte { return terminal.ReplaceAll(text, nil) }

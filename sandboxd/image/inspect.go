package image

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/redact"
)

// maxText is the largest file that shapes of tokens are looked for in. Files in
// which people and tools keep credentials are small.
const maxText = 1 << 20

// inspect looks for credentials in what a sandbox wrote (ledger IM-12): known
// values everywhere; every shape where tools keep credentials; and the shapes of
// tokens in all other text, but for what packages bring along, which is full of
// examples. The error is a *RefusedError when there is one.
func inspect(ctx context.Context, files fs.FS, r *redact.Redactor, known bool) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("inspect: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if slices.ContainsFunc(r.Find([]byte(name)), isKnown) {
			return &RefusedError{Path: path.Join("/", path.Dir(name)), Kind: sessionValue}
		}
		if !d.Type().IsRegular() {
			return nil
		}
		i := inspection{redactor: r, known: known, name: name, keeps: keepsCredentials(name)}
		if !i.keeps && !known && foreign(name) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("inspect: %w", err)
		}
		i.shapes = info.Size() <= maxText && (i.keeps || !foreign(name))
		if !i.shapes && !known {
			return nil
		}
		return i.file(files)
	})
}

// inspection is that of one file.
type inspection struct {
	redactor *redact.Redactor
	known    bool // look for known values
	shapes   bool // look for shapes
	keeps    bool // it is where a tool keeps credentials
	name     string
}

// maxLine is how much of one line is looked at at once, and overlap how much of
// it is looked at again with what follows.
const (
	maxLine = 64 << 10
	overlap = 4 << 10
)

func (i *inspection) file(files fs.FS) error {
	f, err := files.Open(i.name)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, maxLine)
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if kind, found := i.line(bytes.TrimRight(line, "\r\n")); found {
			return &RefusedError{Path: "/" + i.name, Kind: kind}
		}
		switch {
		case err == nil:
			line = line[:0]
		case errors.Is(err, bufio.ErrBufferFull):
			line = append(line[:0], line[max(0, len(line)-overlap):]...)
		case errors.Is(err, io.EOF):
			return nil
		default:
			return fmt.Errorf("inspect: %w", err)
		}
	}
}

// sessionValue is the kind of a value that was known.
const sessionValue = "a value of the session"

// line returns the kind of a credential in a line, if there is one that counts
// in this file.
func (i *inspection) line(line []byte) (kind string, found bool) {
	finds := i.redactor.Find(line)
	if slices.ContainsFunc(finds, isKnown) {
		return sessionValue, true
	}
	if !i.shapes {
		return "", false
	}
	for _, f := range finds {
		switch {
		case slices.Contains(tokens, f.Kind):
			found = !example.Match(f.Text)
		case f.Kind == redact.URL:
			found = i.keeps && password.Match(f.Text)
		default:
			found = i.keeps
		}
		if found {
			return f.Kind, true
		}
	}
	if i.keeps && setting.Match(line) {
		return "a password or token", true
	}
	return "", false
}

var (
	// password is in a URL that has more than the name of a user.
	password = regexp.MustCompile(`://(?:[^/\s:@]*:[^/\s@$]+|[A-Za-z0-9_-]{16,})@`)
	// setting gives a password or token its value, which isn't that of a variable.
	setting = regexp.MustCompile(`(?i)(?:_auth|_authtoken|password|passwd|secret|token)["']?\s*[:= ]\s*["']?[^\s"'$]{8,}`)
)

// tokens are the kinds that are unlikely in a text that isn't a credential.
var tokens = []string{
	"GitHub token", "GitLab token", "AWS key", "Google key", "Slack token", "npm token", "PyPI token", "Vault token", "API key",
	"model hub token", "payment key",
}

// example is what a token in documentation has.
var example = regexp.MustCompile(`(?i)example|x{6}|0{8}|\.\.\.|1234567890|abcdefghij`)

func isKnown(f redact.Find) bool { return f.Kind == redact.Known }

// credentialFiles are the names of files in which tools keep credentials, and
// credentialDirs those of directories, each with a slash before and after.
var (
	credentialFiles = []string{
		".netrc", "_netrc", ".git-credentials", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", "pip.conf", ".pgpass", ".my.cnf",
		".env", ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", "auth.json", "credentials.json",
		"credentials", "credentials.toml", "id_rsa", "id_ed25519", "id_ecdsa", "auth.conf", ".curlrc", ".wgetrc", ".boto",
	}
	credentialDirs = []string{"/.ssh/", "/.aws/", "/.docker/", "/.config/gh/", "/.config/gcloud/", "/.kube/", "/.gnupg/", "/auth.conf.d/"}
)

// keepsCredentials says whether a file is one in which tools keep credentials.
// What a package brings along under such a name is the package's.
func keepsCredentials(name string) bool {
	if strings.HasSuffix("/"+name, "/.git/config") {
		return true
	}
	if foreign(name) {
		return false
	}
	return slices.Contains(credentialFiles, path.Base(name)) ||
		slices.ContainsFunc(credentialDirs, func(dir string) bool { return strings.Contains("/"+name, dir) })
}

// foreignDirs hold what was published, by whoever published it.
var foreignDirs = []string{
	"/node_modules/", "/site-packages/", "/dist-packages/", "/usr/", "/var/lib/", "/var/cache/", "/lib/", "/go/pkg/mod/",
	"/.cargo/registry/", "/.cache/", "/.npm/", "/.rustup/", "/.local/lib/", "/.local/share/", "/vendor/", "/.git/objects/", "/.git/lfs/",
}

func foreign(name string) bool {
	return slices.ContainsFunc(foreignDirs, func(dir string) bool { return strings.Contains("/"+name, dir) })
}

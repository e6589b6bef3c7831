package certs

import (
	"crypto/sha1" // the name hash of OpenSSL, not a signature
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// Names of the files of a Trust, below its directory.
const (
	caFile     = "ca.pem"         // the CA alone
	bundleFile = "bundle.pem"     // system roots and the CA
	javaFile   = "truststore.p12" // the same for Java
	hashedDir  = "certs"          // the CA under the name that OpenSSL looks for
)

// javaPassword protects nothing: the store holds public certificates, and
// Java wants a password.
const javaPassword = pkcs12.DefaultPassword

// Trust is what makes the runtimes in a sandbox accept the leaves of an
// authority: files, and variables that point to them. It is immutable and safe
// for concurrent use.
type Trust struct {
	dir    string
	ca     []byte
	bundle []byte
	java   []byte
	hashed map[string][]byte // by name below hashedDir
}

// NewTrust returns the trust for the CA certificate ca (several during a
// rotation) beside the system's roots, all PEM. dir is the directory that the
// files will have as the sandbox sees it: absolute, without white space, which
// JAVA_TOOL_OPTIONS can't quote. The error is [ErrNoRoots] if roots has no
// certificate other than ca.
func NewTrust(dir string, ca, roots []byte) (*Trust, error) {
	if !path.IsAbs(dir) || strings.ContainsAny(dir, " \t\r\n\"'") {
		return nil, fmt.Errorf("make trust: directory %q is not absolute or has white space or quotes", dir)
	}
	own := parseBundle(ca)
	if len(own) == 0 {
		return nil, errors.New("make trust: no CA certificate given")
	}
	// The CA comes first, so that a root with its name can't shadow it.
	all := parseBundle(append(append(encodeBundle(own), '\n'), roots...))
	if len(all) == len(own) {
		return nil, fmt.Errorf("make trust: %w", ErrNoRoots)
	}
	java, err := javaStore(all)
	if err != nil {
		return nil, fmt.Errorf("encode Java trust store: %w", err)
	}
	hashed, err := hashedFiles(own)
	if err != nil {
		return nil, fmt.Errorf("hash CA name: %w", err)
	}
	return &Trust{dir: path.Clean(dir), ca: encodeBundle(own), bundle: encodeBundle(all), java: java, hashed: hashed}, nil
}

// Files returns the files that the variables point to, by absolute path. They
// are public: mode 0644 will do. The caller must not modify the contents.
func (t *Trust) Files() map[string][]byte {
	files := map[string][]byte{
		t.path(caFile):     t.ca,
		t.path(bundleFile): t.bundle,
		t.path(javaFile):   t.java,
	}
	for name, data := range t.hashed {
		files[t.path(hashedDir, name)] = data
	}
	return files
}

// StoreFiles returns the files that take the place of the distribution's own
// trust store, by absolute path, for a sandbox whose root file system is ours:
// programs that read no variable, and root steps that clear them, look there.
// The anchors are what the distribution's tools merge if they run again. A
// path whose directory a root file system lacks belongs to another
// distribution and can be left out, except the first,
// /etc/ssl/certs/ca-certificates.crt, which is always placed.
func (t *Trust) StoreFiles() map[string][]byte {
	return map[string][]byte{
		"/etc/ssl/certs/ca-certificates.crt":                t.bundle,
		"/etc/ssl/cert.pem":                                 t.bundle,
		"/etc/pki/tls/certs/ca-bundle.crt":                  t.bundle,
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem": t.bundle,
		"/usr/local/share/ca-certificates/sallyport.crt":    t.ca,
		"/etc/pki/ca-trust/source/anchors/sallyport.pem":    t.ca,
	}
}

// Write writes Files on this machine, for commands that run without a root
// file system of their own.
func (t *Trust) Write() error {
	for name, data := range t.Files() {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("write trust: %w", err)
		}
		if err := replaceFile(name, data); err != nil {
			return fmt.Errorf("write trust: %w", err)
		}
	}
	return nil
}

// replaceFile puts a file of mode 0644 at name in one step: a client that reads
// at this moment finds all roots, the old or the new, and a link at name leads
// nowhere.
func replaceFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".trust-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (t *Trust) path(elem ...string) string { return path.Join(append([]string{t.dir}, elem...)...) }

// javaStore numbers the entries: Java takes two entries of one name, and roots
// do share subjects, for one.
func javaStore(all []*x509.Certificate) ([]byte, error) {
	entries := make([]pkcs12.TrustStoreEntry, len(all))
	for i, cert := range all {
		entries[i] = pkcs12.TrustStoreEntry{Cert: cert, FriendlyName: fmt.Sprintf("root-%d", i)}
	}
	return pkcs12.Modern2023.EncodeTrustStoreEntries(entries, javaPassword)
}

// hashedFiles names each certificate HASH.N, N counting those of one name.
func hashedFiles(certs []*x509.Certificate) (map[string][]byte, error) {
	files := map[string][]byte{}
	count := map[uint32]int{}
	for _, cert := range certs {
		hash, err := nameHash(cert)
		if err != nil {
			return nil, err
		}
		files[fmt.Sprintf("%08x.%d", hash, count[hash])] = encodeBundle([]*x509.Certificate{cert})
		count[hash]++
	}
	return files, nil
}

// nameHash is the name under which OpenSSL looks up a subject in a directory
// (x509_name_canon in its source): SHA-1 over the relative names, each
// attribute as UTF8String, lower case, white space collapsed.
func nameHash(cert *x509.Certificate) (uint32, error) {
	var rdns pkix.RDNSequence
	if _, err := asn1.Unmarshal(cert.RawSubject, &rdns); err != nil {
		return 0, err
	}
	var canonical []byte
	for _, rdn := range rdns {
		type attribute struct {
			Type  asn1.ObjectIdentifier
			Value string `asn1:"utf8"`
		}
		type set struct {
			Attributes []attribute `asn1:"set"`
		}
		var s set
		for _, a := range rdn {
			text, ok := a.Value.(string)
			if !ok {
				return 0, fmt.Errorf("attribute %v is not text", a.Type)
			}
			s.Attributes = append(s.Attributes, attribute{a.Type, lowerASCII(strings.Join(strings.Fields(text), " "))})
		}
		b, err := asn1.Marshal(s)
		if err != nil {
			return 0, err
		}
		// Only the SET counts, not the SEQUENCE that the struct became.
		var inner asn1.RawValue
		if _, err := asn1.Unmarshal(b, &inner); err != nil {
			return 0, err
		}
		canonical = append(canonical, inner.Bytes...)
	}
	sum := sha1.Sum(canonical)
	return binary.LittleEndian.Uint32(sum[:4]), nil
}

func lowerASCII(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

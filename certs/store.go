package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Files of an authority below the directory given to Open.
const (
	authorityDir = "authority"
	certFile     = "ca.pem"
	keyFile      = "ca-key.pem"
)

// maxFile bounds what is read of a file that should hold one PEM block.
const maxFile = 64 << 10

// Open loads the authority kept below dir, or makes one there. The key is in
// dir/authority/ca-key.pem, mode 0600, and the certificate beside it in
// ca.pem. Both appear at once: their directory is renamed into place, so a
// crash or a second process never leaves half an authority. An authority that
// is there but can't be used is an error that says what to do, never replaced.
func Open(dir string) (*Authority, error) {
	if err := checkDir(dir); err != nil {
		return nil, fmt.Errorf("open CA: %w", err)
	}
	path := filepath.Join(dir, authorityDir)
	a, err := load(path)
	if errors.Is(err, errAbsent) {
		if exists(filepath.Join(dir, nextDir)) {
			err = takeOver(dir)
		} else {
			err = create(dir, path)
		}
		if err != nil {
			return nil, fmt.Errorf("create CA in %s: %w", path, err)
		}
		a, err = load(path)
	}
	if err != nil {
		return nil, err
	}
	others, err := overlap(dir)
	if err != nil {
		return nil, err
	}
	a.certPEM = append(a.certPEM, others...)
	return a, nil
}

// checkDir refuses a directory in which anybody could put an authority of his
// own, sticky or not. One that is missing will be made.
func checkDir(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("everyone may write to %s: use a directory of the edge's own, or run chmod o-w %s", dir, dir)
	}
	return nil
}

var errAbsent = errors.New("no authority")

// advice ends every error about files that exist.
func advice(path string) string {
	return fmt.Sprintf("restore %s from a backup, or move it away to have a new CA made (running sandboxes don't trust a new one)", path)
}

func load(path string) (*Authority, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errAbsent
	}
	keyPath, certPath := filepath.Join(path, keyFile), filepath.Join(path, certFile)
	key, err := loadKey(keyPath)
	if err != nil {
		return nil, fmt.Errorf("load CA key %s: %w; %s", keyPath, err, advice(path))
	}
	der, err := readPEM(certPath, "CERTIFICATE", 0o022)
	if err != nil {
		return nil, fmt.Errorf("load CA certificate %s: %w; %s", certPath, err, advice(path))
	}
	a, err := newAuthority(key, der)
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return nil, fmt.Errorf("load CA certificate %s: %w; %s", certPath, err, advice(path))
	}
	return a, nil
}

func loadKey(path string) (*ecdsa.PrivateKey, error) {
	der, err := readPEM(path, "PRIVATE KEY", 0o077)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		// The parser's own text may quote what it read.
		return nil, errors.New("not a PKCS#8 private key")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("not an ECDSA P-256 key")
	}
	return key, nil
}

// check says why a certificate that parses can't serve as this CA.
func (a *Authority) check() error {
	pub, ok := a.cert.PublicKey.(*ecdsa.PublicKey)
	switch {
	case !ok || !pub.Equal(a.key.Public()):
		return errors.New("it belongs to another key")
	case !a.cert.BasicConstraintsValid || !a.cert.IsCA || a.cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return errors.New("it is not a CA certificate")
	case len(a.cert.SubjectKeyId) == 0:
		return errors.New("it has no subject key identifier")
	case time.Now().After(a.cert.NotAfter):
		return fmt.Errorf("it expired at %s", a.cert.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// readPEM returns the only PEM block of a regular file none of whose forbidden
// mode bits is set.
func readPEM(path, blockType string, forbidden fs.FileMode) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if mode := fi.Mode().Perm(); mode&forbidden != 0 {
		return nil, fmt.Errorf("its mode %04o is open to others: if nobody can have used it, run chmod %04o %s", mode, mode&^forbidden, path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil || block.Type != blockType {
		return nil, fmt.Errorf("no PEM block %q in it", blockType)
	}
	return block.Bytes, nil
}

func create(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, certDER, err := generate("Sallyport CA")
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, ".authority-") // mode 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // gone already if all went well
	if err := writePEM(filepath.Join(tmp, keyFile), "PRIVATE KEY", keyDER, 0o600); err != nil {
		return err
	}
	if err := writePEM(filepath.Join(tmp, certFile), "CERTIFICATE", certDER, 0o644); err != nil {
		return err
	}
	if err := syncDir(tmp); err != nil {
		return err
	}
	// rename(2) refuses a directory that isn't empty: another process that was
	// quicker has won, and its authority is the one to load.
	if err := os.Rename(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(dir)
}

func writePEM(path, blockType string, der []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = pem.Encode(f, &pem.Block{Type: blockType, Bytes: der})
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

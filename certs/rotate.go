package certs

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Directories of a rotation, beside that of the authority in force.
const (
	nextDir = "authority-next" // trusted already, signs nothing yet
	oldDir  = "authority-old"  // trusted still, signs nothing any more
)

// Step is one of the three of a rotation (ledger ED-37). Between them time
// passes: sandboxes trust what was trusted when they started.
type Step string

const (
	StepBegin  Step = "begin"  // make the next authority, and have it trusted
	StepSwitch Step = "switch" // let the next sign; the old one stays trusted
	StepRetire Step = "retire" // forget the old one
)

// Rotate takes the authority kept below dir one step further. An edge notices
// when it is started again: [Authority.CertificatePEM] then has every
// certificate that is trusted. A step out of turn is an error and changes
// nothing.
func Rotate(dir string, step Step) error {
	next, old := filepath.Join(dir, nextDir), filepath.Join(dir, oldDir)
	hasNext, hasOld := exists(next), exists(old)
	if _, err := Open(dir); err != nil {
		return fmt.Errorf("rotate CA: %w", err)
	}
	switch step {
	case StepBegin:
		if hasNext || hasOld {
			return errors.New("rotate CA: a rotation has begun already: go on with switch or retire")
		}
		if err := create(dir, next); err != nil {
			return fmt.Errorf("rotate CA: %w", err)
		}
		return giveLike(filepath.Join(dir, authorityDir), next)
	case StepSwitch:
		if !hasNext || hasOld {
			return errors.New("rotate CA: there is no next authority: begin, and retire the old one first")
		}
		if err := os.Rename(filepath.Join(dir, authorityDir), old); err != nil {
			return fmt.Errorf("rotate CA: %w", err)
		}
		return takeOver(dir)
	case StepRetire:
		if !hasOld {
			return errors.New("rotate CA: there is no old authority to retire")
		}
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("rotate CA: %w", err)
		}
		return syncDir(dir)
	}
	return fmt.Errorf("rotate CA: expected %s, %s or %s, found %.20q", StepBegin, StepSwitch, StepRetire, step)
}

// takeOver puts the next authority in force. Open does it too, for a switch
// that was cut short between its two renames.
func takeOver(dir string) error {
	if err := os.Rename(filepath.Join(dir, nextDir), filepath.Join(dir, authorityDir)); err != nil {
		return fmt.Errorf("put next CA in force: %w", err)
	}
	return syncDir(dir)
}

// overlap returns the certificates, PEM, that are trusted beside the one in
// force.
func overlap(dir string) ([]byte, error) {
	var all []byte
	for _, name := range []string{nextDir, oldDir} {
		file := filepath.Join(dir, name, certFile)
		der, err := readPEM(file, "CERTIFICATE", 0o022)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("load CA certificate %s: %w", file, err)
		}
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return all, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// giveLike makes the owner of the directory like that of the directory path and
// the files in it, for root that rotates the CA of an edge of another user.
func giveLike(like, path string) error {
	info, err := os.Lstat(like)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	var errs []error
	for _, name := range []string{"", keyFile, certFile} {
		errs = append(errs, os.Lchown(filepath.Join(path, name), int(owner.Uid), int(owner.Gid)))
	}
	return errors.Join(errs...)
}

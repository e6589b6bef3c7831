package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/inject/secret"
)

const (
	valueSuffix   = ".age"
	deletedSuffix = ".deleted"
)

// version is one version of a name: a value, or the mark of its deletion.
type version struct {
	number  uint64
	deleted bool
}

// String is the version as callers see it.
func (v version) String() string { return strconv.FormatUint(v.number, 10) }

// file is the version's file name; zeros in front make them sort.
func (v version) file() string {
	suffix := valueSuffix
	if v.deleted {
		suffix = deletedSuffix
	}
	return fmt.Sprintf("%010d%s", v.number, suffix)
}

// parseVersion reads a file name; others, such as what a crash left behind,
// are none.
func parseVersion(file string) (version, bool) {
	digits, isValue := strings.CutSuffix(file, valueSuffix)
	if !isValue {
		var isMark bool
		if digits, isMark = strings.CutSuffix(file, deletedSuffix); !isMark {
			return version{}, false
		}
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || number == 0 {
		return version{}, false
	}
	v := version{number: number, deleted: !isValue}
	return v, v.file() == file
}

// latest returns the highest version of a name, which may be a deletion; zero
// if the name was never used. A lock must be held.
func (s *Store) latest(name string) (version, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, name))
	if os.IsNotExist(err) {
		return version{}, nil
	}
	if err != nil {
		return version{}, classify(err)
	}
	var highest version
	for _, entry := range entries {
		if v, ok := parseVersion(entry.Name()); ok && v.number > highest.number {
			highest = v
		}
	}
	return highest, nil
}

// current is latest for readers: a name without a value is ErrNotFound.
func (s *Store) current(name string) (version, error) {
	v, err := s.latest(name)
	if err == nil && (v.number == 0 || v.deleted) {
		err = secret.ErrNotFound
	}
	return v, err
}

// hasValues reports whether any name has a value. A lock must be held.
func (s *Store) hasValues() (bool, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return false, classify(err)
	}
	for _, entry := range entries {
		v, err := s.latest(entry.Name())
		if err != nil {
			return false, err
		}
		if v.number > 0 && !v.deleted {
			return true, nil
		}
	}
	return false, nil
}

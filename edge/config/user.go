package config

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
)

// User is the identity that an edge takes on.
type User struct{ UID, GID int }

// ParseUser reads "UID:GID" or the name of an account. Root is refused: an
// edge that reads hostile bytes has no use for it.
func ParseUser(s string) (User, error) {
	u, err := lookUser(s)
	if err != nil {
		return User{}, err
	}
	if u.UID == 0 {
		return User{}, errors.New("expected another user than root")
	}
	return u, nil
}

func lookUser(s string) (User, error) {
	if uid, gid, found := strings.Cut(s, ":"); found {
		u, uErr := strconv.ParseUint(uid, 10, 31)
		g, gErr := strconv.ParseUint(gid, 10, 31)
		if uErr != nil || gErr != nil {
			return User{}, errors.New("expected UID:GID in numbers, or the name of an account")
		}
		return User{int(u), int(g)}, nil
	}
	account, err := user.Lookup(s)
	if err != nil {
		return User{}, fmt.Errorf("look up account: %w", err)
	}
	return lookUser(account.Uid + ":" + account.Gid)
}

func parseUser(s string) (*User, error) {
	if s == "" {
		return nil, nil
	}
	u, err := ParseUser(s)
	if err != nil {
		return nil, err
	}
	return &u, nil
}

package runs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Users inside a sandbox.
const (
	rootID = 0
	userID = 1000
)

// idCount is how many users and groups a sandbox has.
const idCount = 65536

// Sandboxes of root take their ids from a part of the number space that
// neither distributions nor systemd hand out (0x70000000 to 0x7ffcffff).
const (
	firstID   = 0x70000000
	rangeMost = 4093
)

// rangedRoot is the sandbox's root in an ordinary user's namespace, where 0 is
// the user.
const rangedRoot = 1

// ids says who the users of a sandbox are outside of it.
type ids struct {
	mappings []syscall.SysProcIDMap // of users and of groups alike
	root     int                    // outside id of the sandbox's root; with oneID, of its user
	oneID    bool                   // only the user is mapped
	mounts   bool                   // mounts can be mapped, so that layers hold ids from 0
	reserved *os.File               // holds the range; nil when there is only one
}

// reserveIDs finds out what ids the caller may give to a sandbox.
func reserveIDs() (*ids, error) {
	extent, whole, err := ownIDs()
	if err != nil {
		return nil, err
	}
	switch {
	case whole:
		return reserveRange()
	case extent >= idCount:
		// An ordinary user in a user namespace of its own, who is its root
		// and should be the sandbox's user.
		return &ids{root: rangedRoot, mappings: []syscall.SysProcIDMap{
			{ContainerID: rootID, HostID: rangedRoot, Size: userID},
			{ContainerID: userID, HostID: 0, Size: 1},
			{ContainerID: userID + 1, HostID: userID + 1, Size: idCount - 1 - userID},
		}}, nil
	default:
		return &ids{oneID: true, mappings: []syscall.SysProcIDMap{{ContainerID: userID, HostID: 0, Size: 1}}}, nil
	}
}

// layerOwner returns who owns layers on disk: 0 where mounts are mapped, else
// the sandbox's root itself.
func layerOwner() (int, error) {
	extent, whole, err := ownIDs()
	if err == nil && !whole && extent >= idCount {
		return rangedRoot, nil
	}
	return 0, err
}

// ownIDs returns how many ids from 0 the caller's user namespace has, and
// whether it is the machine's own.
func ownIDs() (extent int, whole bool, err error) {
	b, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return 0, false, err
	}
	for line := range strings.Lines(string(b)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err != nil {
			return 0, false, fmt.Errorf("parse uid_map: %w", err)
		}
		if size == 1<<32-1 {
			return size, true, nil
		}
		if inside == extent {
			extent += size
		}
	}
	return extent, false, nil
}

// reserveRange takes a range that no other sandbox on this machine has. The
// reservation is an abstract socket name, which the kernel frees with its
// holder.
func reserveRange() (*ids, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "id range")
	start := rand.IntN(rangeMost) //nolint:gosec // keeps sandboxes apart, guards nothing
	for i := range rangeMost {
		base := firstID + (start+i)%rangeMost*idCount
		err := unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("@sallyport/ids/%d", base)})
		if err == nil {
			return &ids{root: base, mounts: true, reserved: f, mappings: []syscall.SysProcIDMap{
				{ContainerID: rootID, HostID: base, Size: idCount},
			}}, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return nil, errors.Join(fmt.Errorf("reserve ids: %w", err), f.Close())
		}
	}
	return nil, errors.Join(errors.New("reserve ids: every range is taken"), f.Close())
}

func (i *ids) release() error {
	if i == nil || i.reserved == nil {
		return nil
	}
	return i.reserved.Close()
}

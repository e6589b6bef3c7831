package runs

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
)

// mapIDs gives a process's new user namespace its ids: the caller as root,
// and, where the system grants a range, as many as a sandbox has.
func mapIDs(pid int) error {
	uids, err := subordinate("/etc/subuid")
	if err != nil {
		return err
	}
	gids, err := subordinate("/etc/subgid")
	if err != nil {
		return err
	}
	newuidmap, uerr := exec.LookPath("newuidmap")
	newgidmap, gerr := exec.LookPath("newgidmap")
	if uids < 0 || gids < 0 || uerr != nil || gerr != nil {
		return mapOne(pid)
	}
	if err := mapRange(newuidmap, pid, os.Getuid(), uids); err != nil {
		return mapOne(pid) // the tool doesn't take everybody that the file names
	}
	return mapRange(newgidmap, pid, os.Getgid(), gids)
}

func mapRange(tool string, pid, own, first int) error {
	args := []string{strconv.Itoa(pid), "0", strconv.Itoa(own), "1", "1", strconv.Itoa(first), strconv.Itoa(idCount)}
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", tool, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// mapOne maps the caller alone. The kernel demands that groups can't be dropped
// then.
func mapOne(pid int) error {
	for _, m := range []struct{ file, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("0 %d 1\n", os.Getuid())},
		{"gid_map", fmt.Sprintf("0 %d 1\n", os.Getgid())},
	} {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, m.file), []byte(m.text), 0); err != nil {
			return err
		}
	}
	return nil
}

// subordinate returns the first id of a range that the file grants the caller,
// subuid(5), or -1 if there is none that is long enough.
func subordinate(file string) (int, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	defer func() { _ = f.Close() }()
	names := []string{strconv.Itoa(os.Getuid())}
	if u, err := user.Current(); err == nil {
		names = append(names, u.Username)
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Split(strings.TrimSpace(lines.Text()), ":")
		if len(fields) != 3 || (fields[0] != names[0] && fields[0] != names[len(names)-1]) {
			continue
		}
		first, err1 := strconv.Atoi(fields[1])
		count, err2 := strconv.Atoi(fields[2])
		if err1 == nil && err2 == nil && count >= idCount {
			return first, nil
		}
	}
	return -1, lines.Err()
}

package main

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// devices are the host's that a sandbox has too.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// enterRoot makes the first mount the root of this process, puts the others in
// place and lets go of the host's.
func enterRoot(s *wire.Setup, mounts []int) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failed("make mounts private", err)
	}
	nodes, err := cloneDevices()
	if err != nil {
		return err
	}
	// Any directory that surely exists will do to attach the new root to.
	const at = "/proc"
	if err := attach(mounts[0], at); err != nil {
		return failed("attach root", err)
	}
	if err := unix.Chdir(at); err != nil {
		return failed("enter root", err)
	}
	// The old root ends up on top of the new one, from where it is taken off;
	// until then a new /proc may be mounted, because the host's can be seen.
	if err := unix.PivotRoot(".", "."); err != nil {
		return failed("pivot root", err)
	}
	for i, m := range s.Mounts[1:] {
		if err := place(m, mounts[i+1]); err != nil {
			return err
		}
	}
	if err := mountProc(); err != nil {
		return err
	}
	if err := mountDev(s, nodes); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return failed("let go of the host's root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return failed("enter root", err)
	}
	return maskProc()
}

// attach puts a detached mount at a path and closes its descriptor: a
// directory of the host that stayed open would be a way out.
func attach(fd int, path string) error {
	err := unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	_ = unix.Close(fd)
	return err
}

func place(m wire.Mount, fd int) error {
	var err error
	if m.File {
		err = makeParents(m.Target)
		if err == nil {
			err = touch(m.Target)
		}
	} else {
		err = os.MkdirAll(m.Target, 0o755)
	}
	if err == nil {
		err = attach(fd, m.Target)
	}
	if err != nil {
		return failed("mount "+m.Target, err)
	}
	return nil
}

func touch(path string) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// mountPoint makes sure that path is a directory of the root itself. An image
// with a symbolic link there could have it mounted somewhere else.
func mountPoint(path string) error {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if err == unix.ENOENT {
		return unix.Mkdir(path, 0o755)
	}
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	return nil
}

func cloneDevices() ([]int, error) {
	var fds []int
	for _, d := range devices {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+d, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return nil, failed("clone /dev/"+d, err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func mountDev(s *wire.Setup, nodes []int) error {
	if err := mountPoint("/dev"); err != nil {
		return failed("make /dev", err)
	}
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "size=64k,mode=755"); err != nil {
		return failed("mount /dev", err)
	}
	for i, d := range devices {
		if err := touch("/dev/" + d); err != nil {
			return failed("make /dev/"+d, err)
		}
		if err := attach(nodes[i], "/dev/"+d); err != nil {
			return failed("mount /dev/"+d, err)
		}
	}
	pts, shm := "newinstance,ptmxmode=0666,mode=0620", "mode=1777,size="+strconv.FormatUint(s.ShmBytes, 10)
	if !s.OneID {
		pts += ",gid=5"
	}
	for _, m := range []struct {
		path, fs, options string
		flags             uintptr
	}{
		{"/dev/pts", "devpts", pts, unix.MS_NOSUID | unix.MS_NOEXEC},
		{"/dev/shm", "tmpfs", shm, unix.MS_NOSUID | unix.MS_NODEV},
	} {
		if err := unix.Mkdir(m.path, 0o755); err != nil {
			return failed("make "+m.path, err)
		}
		if err := unix.Mount(m.fs, m.path, m.fs, m.flags, m.options); err != nil {
			return failed("mount "+m.path, err)
		}
	}
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
		"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := unix.Symlink(target, "/dev/"+name); err != nil {
			return failed("link /dev/"+name, err)
		}
	}
	return nil
}

func makeParents(path string) error {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return os.MkdirAll(path[:i], 0o755)
	}
	return nil
}

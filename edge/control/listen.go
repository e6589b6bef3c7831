package control

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Socket is an open control socket, with the lock that keeps another edge from
// taking its place.
type Socket struct {
	*net.UnixListener
	lock *os.File
}

// Close closes and removes the socket, then lets others have its path.
func (s *Socket) Close() error {
	return errors.Join(s.UnixListener.Close(), s.lock.Close())
}

// LockFile is the file beside the socket at path that an edge locks as long as
// it serves it. It stays when the edge ends: a lock on a file that was removed
// would keep nobody out.
func LockFile(path string) string { return path + ".lock" }

// Listen opens the control socket at path with mode 0600. It replaces the
// socket that a dead edge left behind, and refuses to take the place of one
// that still answers or of anything that isn't a socket.
func Listen(path string) (_ *Socket, err error) {
	if err := checkDir(path); err != nil {
		return nil, fmt.Errorf("listen on control socket: %w", err)
	}
	lock, err := takeLock(LockFile(path))
	if err != nil {
		return nil, fmt.Errorf("lock control socket: %w", err)
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if err := clearStale(path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on control socket: %w", err)
	}
	// Until this, the mode was what the umask left; whoever got in by then
	// still fails the check of its uid.
	if err := os.Chmod(path, 0o600); err != nil {
		ln.Close()
		return nil, fmt.Errorf("restrict control socket: %w", err)
	}
	return &Socket{ln, lock}, nil
}

// takeLock locks the file at path, which it makes if there is none, until the
// file is closed or this process ends.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errors.New("another edge serves this socket")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkDir refuses a socket in a directory that everyone may write to, sticky or
// not: another user could serve one of that name before the edge does.
func checkDir(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("everyone may write to %s: put the socket into a directory of the edge's own", dir)
	}
	return nil
}

func clearStale(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode().Type() != os.ModeSocket {
		return errors.New("the path exists and is not a socket")
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return errors.New("another edge serves this socket")
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// peerListener accepts only peers that run as root or as this process does,
// and wraps their connections so that descriptors can be received.
type peerListener struct {
	*Socket
	log *slog.Logger
}

// Accept implements net.Listener.
func (l peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err := checkPeer(conn); err != nil {
			l.log.Warn("control peer refused", "error", err)
			conn.Close()
			continue
		}
		return newRightsConn(conn), nil
	}
}

func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if credErr != nil {
		return fmt.Errorf("read peer credentials: %w", credErr)
	}
	if cred.Uid != 0 && int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("uid %d is neither root nor the edge's own", cred.Uid)
	}
	return nil
}

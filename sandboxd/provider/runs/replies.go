package runs

import (
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// What the init says is not to be trusted: it lives with whatever runs in the
// sandbox. Packets are bounded, must be of a known kind for a known command in
// the right order, and bring at most one descriptor, which must be a terminal.
// Anything else ends the sandbox.

// read handles replies until there are no more or one is wrong.
func (sb *Sandbox) read() {
	b := make([]byte, wire.MaxPacket)
	oob := make([]byte, unix.CmsgSpace(4))
	for {
		n, on, flags, _, err := sb.conn.ReadMsgUnix(b, oob)
		files := received(oob[:on])
		if err != nil || n == 0 || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
			closeFiles(files)
			return
		}
		m, err := wire.ParseMessage(b[:n])
		if err != nil || !sb.reply(m, files) {
			closeFiles(files)
			return
		}
	}
}

// reply handles one reply and says whether it was in order. The files are the
// callee's only if it was.
func (sb *Sandbox) reply(m wire.Message, files []*os.File) bool {
	switch m.Kind {
	case wire.KindReady, wire.KindFailed:
		if len(files) > 0 || sb.answered {
			return false
		}
		sb.answered = true
		sb.ready <- m
		return true
	case wire.KindStarted:
		p := sb.process(m.ID)
		return p != nil && p.onStarted(files)
	case wire.KindRefused:
		p := sb.forget(m.ID)
		return p != nil && len(files) == 0 && p.onRefused(m)
	case wire.KindExited:
		p := sb.forget(m.ID)
		return p != nil && len(files) == 0 && p.onExited(m.Value)
	default:
		return false
	}
}

func (sb *Sandbox) process(id uint32) *Process {
	sb.processesMu.Lock()
	defer sb.processesMu.Unlock()
	return sb.processes[id]
}

func (sb *Sandbox) forget(id uint32) *Process {
	sb.processesMu.Lock()
	defer sb.processesMu.Unlock()
	p := sb.processes[id]
	delete(sb.processes, id)
	return p
}

// abandon ends what still waits when the init is gone.
func (sb *Sandbox) abandon() {
	sb.processesMu.Lock()
	rest := sb.processes
	sb.processes = nil
	sb.processesMu.Unlock()
	for _, p := range rest {
		p.onLost(sb.stderr.String())
	}
}

// received turns descriptors into files at once, so that none is lost.
func received(oob []byte) []*os.File {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			// Non-blocking, so that the file can be waited for with a deadline.
			_ = unix.SetNonblock(fd, true)
			files = append(files, os.NewFile(uintptr(fd), "from init"))
		}
	}
	return files
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// isTerminal says whether f is the master of a terminal.
func isTerminal(f *os.File) bool {
	ok := false
	c, err := f.SyscallConn()
	if err != nil {
		return false
	}
	err = c.Control(func(fd uintptr) {
		_, err := unix.IoctlGetUint32(int(fd), unix.TIOCGPTN)
		ok = err == nil
	})
	return err == nil && ok
}

// printable keeps a text from the sandbox from doing more than be read.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s))
}

// lastWords keep the beginning of what an init writes to its standard error,
// which is only that it crashed.
type lastWords struct{ b []byte }

const lastWordsSize = 4096

// Write implements io.Writer.
func (l *lastWords) Write(b []byte) (int, error) {
	l.b = append(l.b, b[:min(len(b), lastWordsSize-len(l.b))]...)
	return len(b), nil
}

// String returns what was kept. Nothing may be written any more.
func (l *lastWords) String() string { return printable(string(l.b)) }

// Command hostileinit stands in for an init that a sandbox has taken over: it
// answers as the host name that it is set up with tells it to.
package main

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

const controlFD = 3

func main() {
	kind, body := receive()
	if kind != wire.KindSetup {
		os.Exit(1)
	}
	s, err := wire.ParseSetup(body)
	if err != nil {
		os.Exit(1)
	}
	ready := wire.Message{Kind: wire.KindReady}.Append(nil)
	if attack := beforeReady[s.Hostname]; attack != nil {
		attack(ready)
		wait()
	}
	send(ready)
	receive()
	if attack := afterExec[s.Hostname]; attack != nil {
		attack()
	}
	wait()
}

var beforeReady = map[string]func(ready []byte){
	"garbage":              func([]byte) { send([]byte("\xff\xff\xff\xff")) },
	"empty":                func([]byte) { send(nil) },
	"too-long":             func([]byte) { send(make([]byte, wire.MaxPacket+1)) },
	"ready-with-directory": func(ready []byte) { send(ready, directory()) },
	"many-descriptors":     func(ready []byte) { send(ready, directory(), directory(), directory()) },
	"trailing":             func(ready []byte) { send(append(ready, 0)) },
	"control-characters": func([]byte) {
		send(wire.Message{Kind: wire.KindFailed, Text: "\x1b]0;title\x07\x1b[2J"}.Append(nil))
	},
	"request": func([]byte) { send(wire.Message{Kind: wire.KindExec, ID: 1}.Append(nil)) },
	"silence": func([]byte) { os.Exit(0) },
}

var afterExec = map[string]func(){
	"ready-twice":     func() { message(wire.KindReady, 0, 0) },
	"unknown-command": func() { message(wire.KindExited, 99, 0) },
	"exit-first":      func() { message(wire.KindExited, 1, 0) },
	"refused-oddly":   func() { message(wire.KindRefused, 1, 0) },
	"started-twice":   func() { message(wire.KindStarted, 1, 0); message(wire.KindStarted, 1, 0) },
	"stopped":         func() { message(wire.KindStarted, 1, 0); message(wire.KindExited, 1, 0x137f) },
	"refused-late":    func() { message(wire.KindStarted, 1, 0); message(wire.KindRefused, 1, 127) },
	"with-descriptor": func() { send(wire.Message{Kind: wire.KindStarted, ID: 1}.Append(nil), directory()) },
}

// directory opens a directory, which is no terminal.
func directory() int {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		os.Exit(1)
	}
	return fd
}

func message(k wire.Kind, id, value uint32) {
	send(wire.Message{Kind: k, ID: id, Value: value}.Append(nil))
}

func send(b []byte, fds ...int) {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	_ = unix.Sendmsg(controlFD, b, oob, nil, 0)
}

func receive() (wire.Kind, []byte) {
	b, oob := make([]byte, wire.MaxPacket), make([]byte, unix.CmsgSpace(253*4))
	n, on, _, _, err := unix.Recvmsg(controlFD, b, oob, 0)
	if err != nil || n == 0 {
		os.Exit(0)
	}
	m, err := wire.ParseMessage(b[:n])
	if err != nil {
		os.Exit(1)
	}
	control, err := unix.ParseSocketControlMessage(oob[:on])
	if err != nil || len(control) == 0 {
		os.Exit(1)
	}
	fds, err := unix.ParseUnixRights(&control[0])
	if err != nil {
		os.Exit(1)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fds[0], &st); err != nil {
		os.Exit(1)
	}
	body := make([]byte, st.Size)
	if _, err := unix.Pread(fds[0], body, 0); err != nil {
		os.Exit(1)
	}
	return m.Kind, body
}

// wait lives on until the provider is gone or kills it.
func wait() {
	for {
		n, err := unix.Read(controlFD, make([]byte, 1))
		if err != nil || n == 0 {
			os.Exit(0)
		}
	}
}

package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// commands are those that run. Only the main thread touches them, so a command
// is known before its end can be reported.
type commands struct {
	control *control
	byPID   map[int]uint32
	byID    map[uint32]int
}

func newCommands(c *control) *commands {
	return &commands{control: c, byPID: make(map[int]uint32), byID: make(map[uint32]int)}
}

// serve handles requests and reaps children until the provider is gone.
func (c *commands) serve() {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	requests := make(chan request)
	go func() {
		defer close(requests)
		for {
			r, ok := c.control.receive()
			if !ok {
				return
			}
			requests <- r
		}
	}()
	for {
		select {
		case r, ok := <-requests:
			if !ok {
				return
			}
			c.handle(r)
		case <-children:
			c.reap()
		}
	}
}

func (c *commands) handle(r request) {
	defer closeAll(r.fds)
	id := r.message.ID
	switch r.message.Kind {
	case wire.KindExec:
		p, refusal := start(r)
		if refusal != nil {
			c.control.send(wire.Message{Kind: wire.KindRefused, ID: id, Value: refusal.code, Text: refusal.text})
			return
		}
		c.byPID[p.pid], c.byID[id] = id, p.pid
		if p.master < 0 {
			c.control.send(wire.Message{Kind: wire.KindStarted, ID: id})
			return
		}
		c.control.send(wire.Message{Kind: wire.KindStarted, ID: id}, p.master)
		_ = unix.Close(p.master)
	case wire.KindSignal:
		// The command isn't reaped, so its number is still its own.
		if pid, ok := c.byID[id]; ok {
			_ = unix.Kill(-pid, unix.Signal(r.message.Value))
		}
	}
}

// reap collects all that ended: the commands and the orphans of any of them.
func (c *commands) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if id, ok := c.byPID[pid]; ok {
			delete(c.byPID, pid)
			delete(c.byID, id)
			c.control.send(wire.Message{Kind: wire.KindExited, ID: id, Value: uint32(status)})
		}
	}
}

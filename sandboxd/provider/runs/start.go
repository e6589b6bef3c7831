package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// workspace is where a sandbox's workspace is, and where commands start.
const workspace = "/workspace"

// shmBytes is the size of /dev/shm, which counts as memory of the sandbox.
const shmBytes = 1 << 30

// Limits of how long the parts of a start and a stop may take.
const (
	startTimeout = 30 * time.Second
	stopTimeout  = 30 * time.Second
)

// capabilities are what root of a sandbox has over the sandbox: to own and read
// files, to become another user, to signal.
const capabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETPCAP | 1<<unix.CAP_SYS_CHROOT |
	1<<unix.CAP_SETFCAP

// Start starts the sandbox that s describes and returns once it takes commands.
// When it returns an error nothing is left of it. It doesn't close s.Network.
func (p *Provider) Start(ctx context.Context, s Spec) (*Sandbox, error) {
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	program, err := p.program()
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	sb := newSandbox(p, s.ID)
	if err := p.start(ctx, sb, program, s); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("start sandbox: %w", err), sb.Stop(stop))
	}
	return sb, nil
}

// validate checks what can be checked without looking at the machine.
func (s Spec) validate() error {
	if !validID.MatchString(s.ID) {
		return fmt.Errorf("id %q is not 1 to 63 of a-z, 0-9 and inner hyphens", s.ID)
	}
	if s.Network == nil || s.Network.ns == nil {
		return errors.New("a network is required")
	}
	if s.Image == NoBase && len(s.Layers) == 0 {
		return errors.New("an image without a base needs a layer")
	}
	for p := range s.Files {
		if !path.IsAbs(p) {
			return fmt.Errorf("path of file %q is not absolute", p)
		}
	}
	return nil
}

// start fills in sb step by step, so that Stop undoes as much as was done.
func (p *Provider) start(ctx context.Context, sb *Sandbox, program *os.File, s Spec) error {
	err := ctx.Err()
	if err != nil {
		return err
	}
	if sb.ids, err = reserveIDs(); err != nil {
		return err
	}
	owner, err := layerOwner()
	if err != nil {
		return err
	}
	if sb.dir, err = p.claim(s.ID); err != nil {
		return err
	}
	if !sb.ids.mounts {
		s.DiskBytes = 0 // an ordinary user has no block devices
	}
	if err := p.provide(sb.dir, s.DiskBytes, owner); err != nil {
		return err
	}
	if err := sb.limit(s.Limits); err != nil {
		return err
	}
	if err := sb.clone(program, s.Network.ns); err != nil {
		return err
	}
	if err := sb.cgroup.join(sb.init.Process.Pid); err != nil {
		return err
	}
	b := &builder{provider: p, program: program, dir: sb.dir, ids: sb.ids}
	if b.layers, err = sb.useLayers(s.Layers); err != nil {
		return err
	}
	if sb.ids.mounts {
		if b.owners, err = userNamespaceOf(sb.init.Process.Pid); err != nil {
			return err
		}
		defer func() { _ = b.owners.Close() }()
	}
	root, err := b.build(s)
	if err != nil {
		return err
	}
	defer root.close()
	sb.placed = root.placed
	return sb.setUp(ctx, root, s)
}

// useLayers opens layers until the sandbox ends.
func (sb *Sandbox) useLayers(keys []string) ([]*openLayer, error) {
	var all []*openLayer
	for _, key := range keys {
		l, err := sb.provider.useLayer(key)
		if err != nil {
			return nil, err
		}
		sb.layers = append(sb.layers, key)
		all = append(all, l)
	}
	return all, nil
}

// limit makes the cgroups. Where they can't be had, an ordinary user goes
// without, and so does root if no limit was asked for; Degraded tells.
func (sb *Sandbox) limit(l Limits) error {
	var err error
	if sb.hierarchies, err = findHierarchies(); err != nil {
		return err
	}
	sb.cgroup, err = sb.hierarchies.newCgroup(sb.cgroupName, l)
	if err != nil && unwritable(err) && (!sb.ids.mounts || l == Limits{}) {
		sb.hierarchies, sb.cgroup, err = hierarchies{}, &cgroup{}, nil
	}
	if err != nil {
		sb.cgroup = nil // there is none to remove
	}
	return err
}

// clone starts the init in fresh namespaces, in the sandbox's network and, for
// v2, already in its cgroup. The init then waits to be told what to do.
func (sb *Sandbox) clone(program, network *os.File) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make control socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	conn, err := net.FileConn(ours)
	if err != nil {
		return fmt.Errorf("make control socket: %w", err)
	}
	sb.conn = conn.(*net.UnixConn)

	c := command(program, theirs)
	c.Stderr = &sb.stderr
	c.WaitDelay = time.Second // for the last words of a killed init
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Setsid:     true, UidMappings: sb.ids.mappings, GidMappings: sb.ids.mappings,
	}
	if sb.ids.oneID {
		// Nobody is root there; only ambient capabilities survive exec.
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			attr.AmbientCaps = append(attr.AmbientCaps, c)
		}
	} else {
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{} // else exec drops the capabilities
	}
	if sb.cgroup.unified != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(sb.cgroup.unified.Fd())
	}
	c.SysProcAttr = attr
	if err := inNetwork(network, c.Start); err != nil {
		return fmt.Errorf("start init: %w", err)
	}
	sb.started(c)
	return nil
}

// setUp hands the init its sandbox and waits until it is ready.
func (sb *Sandbox) setUp(ctx context.Context, root *rootfs, s Spec) error {
	filter, err := filterProgram(s.Workspace != "")
	if err != nil {
		return err
	}
	if sb.ids.oneID {
		for i := range root.entries {
			root.entries[i].ID = userID
		}
	}
	body, err := memoryFile((&wire.Setup{Hostname: s.ID, Mounts: root.mounts, Entries: root.entries, Filter: filter,
		Capabilities: capabilities, ShmBytes: shmBytes, OneID: sb.ids.oneID}).Append(nil))
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if err := sb.send(wire.Message{Kind: wire.KindSetup}, append([]*os.File{body}, root.files...)...); err != nil {
		return err
	}
	select {
	case m := <-sb.ready:
		if m.Kind == wire.KindReady {
			return nil
		}
		return fmt.Errorf("init: %s", printable(m.Text))
	case <-sb.Done():
		return fmt.Errorf("init ended: %s", sb.stderr.String())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// memoryFile returns a file in memory that holds b.
func memoryFile(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("body", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "body")
	if _, err := io.Copy(f, bytes.NewReader(b)); err != nil {
		return nil, errors.Join(fmt.Errorf("write memory file: %w", err), f.Close())
	}
	return f, nil
}

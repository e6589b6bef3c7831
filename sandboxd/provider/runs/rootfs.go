package runs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// fsSticky is the mode bit of directories like /tmp, as the kernel has it.
const fsSticky = unix.S_ISVTX

// rootfs is a sandbox's file system, prepared: what is handed to its init.
type rootfs struct {
	mounts  []wire.Mount
	files   []*os.File // the mounts' descriptors, in the same order
	entries []wire.Entry
	placed  []string // paths of files that aren't the sandbox's own
}

func (r *rootfs) close() {
	for _, f := range r.files {
		_ = f.Close()
	}
}

func (r *rootfs) add(f *os.File, target string) error {
	st, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.mounts = append(r.mounts, wire.Mount{Target: target, File: !st.IsDir()})
	r.files = append(r.files, f)
	return nil
}

// builder has what it takes to prepare a root file system.
type builder struct {
	provider *Provider
	program  *os.File
	dir      *sandboxDir
	ids      *ids
	owners   *os.File // the sandbox's user namespace; nil where mounts can't be mapped
	layers   []*openLayer
}

// build prepares the root file system of s.
func (b *builder) build(s Spec) (_ *rootfs, err error) {
	r := &rootfs{}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := b.addRoot(r, s.Image); err != nil {
		return nil, err
	}
	if isHost(s.Image) {
		if err := r.addHostMounts(); err != nil {
			return nil, err
		}
	}
	if err := b.addWorkspace(r, s.Workspace); err != nil {
		return nil, err
	}
	r.entries = append(r.entries, b.common(s)...)
	for _, e := range r.entries {
		if e.Kind != wire.Dir {
			r.placed = append(r.placed, e.Path)
		}
	}
	return r, nil
}

func isHost(image string) bool { return image == "" || image == "host" }

// layer returns the directory that an image is.
func (b *builder) layer(image string) (string, error) {
	if isHost(image) {
		return b.provider.hostLayer()
	}
	st, err := os.Stat(image)
	if err != nil {
		return "", fmt.Errorf("open image: %w", err)
	}
	if st.IsDir() {
		return image, nil
	}
	return b.provider.imageDir(image)
}

// addRoot stacks the layers on the image and puts what is written on top.
func (b *builder) addRoot(r *rootfs, image string) error {
	o := overlay{ids: b.ids}
	defer func() { _ = o.close() }()
	for i := len(b.layers) - 1; i >= 0; i-- {
		f, below, err := b.layers[i].mount(mountOptions{mapped: b.owners})
		if err != nil {
			return err
		}
		o.layers = append(o.layers, lower{f, below})
	}
	if image != NoBase {
		dir, err := b.layer(image)
		if err != nil {
			return err
		}
		f, err := cloneMount(dir, mountOptions{readOnly: true, mapped: b.owners})
		if err != nil {
			return err
		}
		o.layers = append(o.layers, lower{f, ""})
	}
	var err error
	if b.dir.disk != nil {
		o.dir, err = b.dir.disk.mount(mountOptions{mapped: b.owners})
	} else {
		o.dir, err = cloneMount(b.dir.path, mountOptions{mapped: b.owners})
	}
	if err != nil {
		return err
	}
	root, err := o.mount()
	if err != nil {
		return err
	}
	return r.add(root, "/")
}

func (r *rootfs) addHostMounts() error {
	for _, path := range hostMounts {
		if st, err := os.Lstat(path); err != nil || !st.IsDir() {
			continue
		}
		f, err := cloneMount(path, mountOptions{readOnly: true})
		if err != nil {
			return err
		}
		if err := r.add(f, path); err != nil {
			return err
		}
	}
	return nil
}

// addWorkspace mounts a directory of the host such that its owner is the
// sandbox's user; without one the root gets an empty directory.
func (b *builder) addWorkspace(r *rootfs, dir string) error {
	if dir == "" {
		r.entries = append(r.entries, wire.Entry{Kind: wire.Dir, Path: workspace, Mode: 0o755, ID: userID})
		return nil
	}
	dir, err := b.checkWorkspace(dir)
	if err != nil {
		return fmt.Errorf("mount workspace: %w", err)
	}
	options := mountOptions{}
	if b.ids.mounts {
		st, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("mount workspace: %w", err)
		}
		owner := st.Sys().(*syscall.Stat_t)
		options.mapped, err = mapOwner(b.program, int(owner.Uid), int(owner.Gid), b.ids.root+userID)
		if err != nil {
			return fmt.Errorf("mount workspace: %w", err)
		}
		defer func() { _ = options.mapped.Close() }()
	}
	f, err := cloneMount(dir, options)
	if err != nil {
		return fmt.Errorf("mount workspace: %w", err)
	}
	return r.add(f, workspace)
}

// checkWorkspace returns the real path of dir, which must not be one from
// which other sandboxes can be reached.
func (b *builder) checkWorkspace(dir string) (string, error) {
	dir, err := realPath(dir)
	if err != nil {
		return "", err
	}
	state, err := realPath(b.provider.config.StateDir)
	if err != nil {
		return "", err
	}
	if dir == "/" || within(state, dir) || within(dir, state) {
		return "", fmt.Errorf("%s holds the state of sandboxes or is part of it", dir)
	}
	return dir, nil
}

func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// common are the entries that every sandbox gets, whatever its image.
func (b *builder) common(s Spec) []wire.Entry {
	hosts := "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 " + s.ID + "\n"
	entries := []wire.Entry{
		{Kind: wire.Dir, Path: "/tmp", Mode: 0o777 | fsSticky},
		{Kind: wire.Dir, Path: "/home/user", Mode: 0o755, ID: userID},
		{Kind: wire.FileIfAbsent, Path: "/etc/passwd", Mode: 0o644, Data: []byte(passwd)},
		{Kind: wire.FileIfAbsent, Path: "/etc/group", Mode: 0o644, Data: []byte(group)},
		{Kind: wire.File, Path: "/etc/hostname", Mode: 0o644, Data: []byte(s.ID + "\n")},
		{Kind: wire.File, Path: "/etc/hosts", Mode: 0o644, Data: []byte(hosts)},
		{Kind: wire.File, Path: "/etc/resolv.conf", Mode: 0o644, Data: []byte("nameserver " + Nameserver + "\n")},
	}
	for _, p := range slices.Sorted(maps.Keys(s.Files)) {
		f := s.Files[p]
		entries = append(entries, wire.Entry{Kind: wire.File, Path: path.Clean(p), Mode: uint32(f.Mode.Perm()), Data: f.Data})
	}
	return entries
}

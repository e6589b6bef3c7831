package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// checkID is the id of the sandbox that Check starts.
const checkID = "check"

// Check says whether this machine can run sandboxes: it prepares a network and
// starts a sandbox. Its error names what is missing and what to do about it.
func (p *Provider) Check(ctx context.Context) error {
	if err := privileged(); err != nil {
		return err
	}
	if _, err := p.program(); err != nil {
		return err
	}
	n, err := p.Network(ctx)
	if err != nil {
		return advise(err)
	}
	sb, err := p.Start(ctx, Spec{ID: fmt.Sprintf("%s-%d-%d", checkID, os.Getpid(), time.Now().UnixNano()), Network: n})
	if err != nil {
		return errors.Join(advise(err), n.Close())
	}
	return errors.Join(sb.Stop(ctx), n.Close())
}

// privileged says whether the caller may make what a sandbox is made of.
func privileged() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("get capabilities: %w", err)
	}
	var missing []string
	for _, c := range []struct {
		bit  uint
		name string
	}{
		{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"},
		{unix.CAP_SETUID, "CAP_SETUID"}, {unix.CAP_SETGID, "CAP_SETGID"},
		{unix.CAP_CHOWN, "CAP_CHOWN"}, {unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
	} {
		if data[0].Effective&(1<<c.bit) == 0 {
			missing = append(missing, c.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing %s: run as root, or allow unprivileged user namespaces", strings.Join(missing, ", "))
	}
	return nil
}

// advise adds to an error what can be done about its most likely cause.
func advise(err error) error {
	text := err.Error()
	for _, c := range []struct{ part, advice string }{
		{"nftables", "the kernel needs nf_tables with tproxy and reject (modprobe nft_tproxy nft_reject_ipv4)"},
		{"unshare", "the kernel needs network namespaces (CONFIG_NET_NS)"},
		{"start init", "user namespaces are off: see user.max_user_namespaces and, where it exists, kernel.unprivileged_userns_clone"},
		{"id-mapped", "keep the state directory on ext4, xfs or btrfs, with Linux 5.19 or later"},
		{"create overlay", "keep the state directory on a file system that overlay accepts as its upper layer (ext4, xfs, btrfs, tmpfs; not another overlay), with Linux 5.19 or later"},
		{"mount /proc", "parts of /proc are covered here: in a container, run it privileged"},
		{"cgroup", "the cgroup file systems must be mounted and writable"},
		{"seccomp", "the kernel needs seccomp filters (CONFIG_SECCOMP_FILTER)"},
	} {
		if strings.Contains(text, c.part) {
			return fmt.Errorf("%w (%s)", err, c.advice)
		}
	}
	return err
}

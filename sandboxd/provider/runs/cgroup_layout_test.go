package runs_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

func TestParseHierarchies(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, mountinfo, unified string
		v1                       map[string]string
	}{
		{"v2", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", "/sys/fs/cgroup", nil},
		{"hybrid", `30 23 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw shared:1 master:2 - cgroup2 cgroup2 rw
32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
34 30 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
35 30 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
`, "/sys/fs/cgroup/unified", map[string]string{
			"cpu": "/sys/fs/cgroup/cpu,cpuacct", "memory": "/sys/fs/cgroup/memory", "pids": "/sys/fs/cgroup/pids"}},
		{"none", "23 1 0:22 / /proc rw - proc proc rw\nshort\n1 2 - x\n", "", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, err := runs.ParseHierarchies(strings.NewReader(c.mountinfo))
			if err != nil {
				t.Fatal(err)
			}
			unified, v1 := h.Places()
			if unified != c.unified || !maps.Equal(v1, c.v1) {
				t.Errorf("got %q %v", unified, v1)
			}
		})
	}
}

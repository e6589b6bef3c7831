package runs

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

//go:generate env CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o embedded/sbinit ./sbinit

// embedded holds the init, if it was built before this package was: as a
// folder, so that the package compiles without it.
//
//go:embed all:embedded
var embedded embed.FS

// ErrNotBuilt is returned by Check and Start when the program was built
// without the init that runs inside a sandbox.
var ErrNotBuilt = errors.New("built without its init: run make build")

// openProgram returns the init as a sealed file in memory. Nothing on disk has
// to be kept in step with this program or guarded from others, and nothing in a
// sandbox can write to it.
func openProgram(c Config) (*os.File, error) {
	var b []byte
	var err error
	if c.Init != "" {
		b, err = os.ReadFile(c.Init)
	} else {
		b, err = embedded.ReadFile("embedded/sbinit")
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrNotBuilt
		}
	}
	if err != nil {
		return nil, fmt.Errorf("load init: %w", err)
	}
	fd, err := unix.MemfdCreate("sbinit", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 it is always executable
		fd, err = unix.MemfdCreate("sbinit", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("make memory file (see vm.memfd_noexec): %w", err)
	}
	f := os.NewFile(uintptr(fd), "sbinit")
	if _, err := f.Write(b); err != nil {
		return nil, errors.Join(fmt.Errorf("write memory file: %w", err), f.Close())
	}
	if err := seal(f); err != nil {
		return nil, errors.Join(fmt.Errorf("seal memory file: %w", err), f.Close())
	}
	return f, nil
}

// seal makes a memory file one that nobody can change. The kernel refuses with
// EBUSY while something still refers to a page that was just written; it waits
// some 150 ms for that by itself (mm/memfd.c, memfd_wait_for_pins), which on a
// loaded machine was too short once in thousands of starts.
func seal(f *os.File) error {
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	const tries = 20
	var err error
	for range tries {
		if _, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	return err
}

// command returns a command that runs the program with extra files from
// descriptor 3 on. The program itself is one more of them, the last: in the
// child any other number may have been given to something else.
func command(program *os.File, extra ...*os.File) *exec.Cmd {
	const firstExtra = 3
	c := exec.Command(fmt.Sprintf("/proc/self/fd/%d", firstExtra+len(extra)))
	c.Args = []string{"sbinit"}
	c.Env = []string{} // a sandbox may look at that of its process 1
	c.ExtraFiles = append(extra, program)
	return c
}

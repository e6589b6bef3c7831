package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// maxProgram is what every sandbox can bear.
const maxProgram = 4 << 20

// Ledger: GB-4.
func TestProgramIsSmallAndStatic(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "helper")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	st, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > maxProgram {
		t.Errorf("%d bytes, want at most %d", st.Size(), maxProgram)
	}
	bare := exec.Command(program)
	bare.Env = []string{"PATH=/nonexistent"}
	if err := bare.Run(); bare.ProcessState.ExitCode() != 2 {
		t.Errorf("without arguments: %v, want exit code 2", err)
	}
}

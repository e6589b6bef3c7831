package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(cleaner{m}, map[string]func(){"edge": main})
}

// cleaner removes what program has built once the tests have run.
type cleaner struct{ *testing.M }

func (c cleaner) Run() int {
	code := c.M.Run()
	if programDir != "" {
		os.RemoveAll(programDir)
	}
	return code
}

// TestScript runs testdata/script/*.txt, each the transcript of a user.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

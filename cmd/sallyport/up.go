package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/cmd/sallyport/supervise"
	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

func newUpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the service and its edge on this machine",
		Long: `Run the service and its edge on this machine, until SIGINT or SIGTERM. Once both
are ready, two lines say how the API is reached: "API http://127.0.0.1:PORT" and
"key sp_...", an admin key of the default organisation. The key is also in the
state directory, in admin.key, so that the other commands need neither. Logs go
to standard error.

The state directory holds all that lasts; a directory is used by one "up" at a
time. Secrets of the edge are kept with "sallyport secret --state DIR/edge".
A daemon that ends is started again; one that keeps ending stops both.

The programs "edge" and "sandboxd" are looked for beside this one, then in PATH.
A runtime that can't start sandboxes is noted on standard error, with the reason.`,
		Example: `  sallyport up --state ./state
  sallyport up --listen 127.0.0.1:7070`,
		Args: cobra.NoArgs,
	}
	state := addStateFlag(cmd)
	listen := cmd.Flags().String("listen", "127.0.0.1:0", "`HOST:PORT` of the API; port 0 is any free one")
	var level slog.LevelVar
	level.Set(slog.LevelWarn)
	cmd.Flags().TextVar(&level, "log-level", &level, "log `LEVEL` of the daemons: debug, info, warn or error")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, err := state.dir()
		if err != nil {
			return err
		}
		u := &upRun{dir: dir, listen: *listen, level: level.Level().String(), out: cmd.OutOrStdout(), log: cmd.ErrOrStderr()}
		return u.run(cmd.Context())
	}
	return cmd
}

// upRun is one "sallyport up".
type upRun struct {
	dir    string
	listen string // once the API is up, where that is: it comes back there
	level  string
	out    io.Writer
	log    io.Writer
	key    string
}

// run serves until ctx is done.
func (u *upRun) run(ctx context.Context) (err error) {
	unlock, err := takeState(u.dir)
	if err != nil {
		return err
	}
	defer unlock()
	programs, err := u.programs()
	if err != nil {
		return err
	}
	address := filepath.Join(u.dir, addressFile)
	defer func() {
		// The user that an edge becomes may not remove its socket.
		for _, left := range []string{address, u.controlSocket()} {
			if gone := os.Remove(left); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	log := slog.New(slog.NewTextHandler(u.log, nil))
	return supervise.Serve(ctx, supervise.Options{Log: log}, programs, func() error {
		api := "http://" + u.listen
		if err := writePrivate(address, []byte(api+"\n")); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(u.out, "API %s\nkey %s\n", api, u.key); err != nil {
			return fmt.Errorf("say where the API is: %w", err)
		}
		return u.noteRuntimes(ctx, api)
	})
}

// noteRuntimes says which runtimes can't start sandboxes here.
func (u *upRun) noteRuntimes(ctx context.Context, api string) error {
	client, err := apiclient.New(api, u.key)
	if err != nil {
		return err
	}
	var all apiclient.AllSandboxProvider
	res, err := client.ListSandboxProviders(ctx)
	if _, err := answer(res, err, &all); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it is to stop already
		}
		return fmt.Errorf("ask for the runtimes: %w", err)
	}
	for _, p := range all.Data {
		if !p.Available {
			fmt.Fprintf(u.log, "note: the runtime %s can't start sandboxes: %s\n", p.Provider, printable(or(p.UnavailableReason)))
		}
	}
	return nil
}

// programs are the daemons in the order of their start.
func (u *upRun) programs() ([]supervise.Program, error) {
	edge, err := u.edge()
	if err != nil {
		return nil, err
	}
	sandboxd, err := u.sandboxd()
	return []supervise.Program{edge, sandboxd}, err
}

// apiReady reads what sandboxd says once it serves, and the key that it made.
func (u *upRun) apiReady(line string) error {
	var said struct {
		API string `json:"api"`
	}
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.API == "" {
		return fmt.Errorf("expected the address of the API, it said %q", line)
	}
	key, err := readPrivate(filepath.Join(u.dir, keyFile))
	if err != nil {
		return fmt.Errorf("read the admin key: %w", err)
	}
	u.listen, u.key = said.API, string(bytes.TrimSpace(key))
	return nil
}

// levelFlag is the flag of both daemons.
func (u *upRun) levelFlag() []string {
	return []string{"--log-level", cmp.Or(strings.ToLower(u.level), "warn")}
}

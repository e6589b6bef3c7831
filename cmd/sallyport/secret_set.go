package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/store"
)

func newSecretSetCommand(state *stateFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Store a secret, or a new version of it",
		Long: `Store a secret, or a new version of it.

The value is read from standard input, without echo if that is a terminal, or
from --file; never from the command line, where other users could see it. One
line end at its end is dropped, as echo and editors add it. Values are 1 byte to
64 KiB.

A value with line ends or other control characters can't be put into a header,
so it is refused. Keys that are not meant for one, such as the PEM private key
of an app, are stored with --multiline.`,
		Example: `  sallyport secret set api-token                     # asks for it
  printf %s "$TOKEN" | sallyport secret set api-token
  sallyport secret set app-key --multiline --file app.pem`,
		Args: nameAlone,
	}
	file := cmd.Flags().String("file", "-", "read the value from `FILE`; - is standard input")
	multiline := cmd.Flags().Bool("multiline", false, "accept a value of several lines, which no header can carry")
	format := addOutputFlag(cmd)
	cmd.ValidArgsFunction = completeSecrets(state)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		secrets, err := openStore(state)
		if err != nil {
			return err
		}
		value, err := readSecretValue(cmd, args[0], *file)
		if err != nil {
			return err
		}
		put := secrets.Put
		if *multiline {
			put = secrets.PutText
		}
		info, err := put(cmd.Context(), args[0], value)
		if err != nil {
			return withHint(err, *multiline)
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), newSecretInfo(info))
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: version %s\n", info.Name, info.Version)
		return err
	}
	return cmd
}

// nameAlone explains to whoever puts the value behind the name why that is
// refused. The value isn't repeated.
func nameAlone(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return errors.New("the value is read from standard input or --file, never from the command line; what was there may be in your shell's history")
	}
	return cobra.ExactArgs(1)(cmd, args)
}

// readSecretValue reads a value and drops one line end from its end.
func readSecretValue(cmd *cobra.Command, name, file string) ([]byte, error) {
	in := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read value: %w", err)
		}
		defer f.Close()
		in = f
	} else if tty, ok := in.(*os.File); ok && term.IsTerminal(int(tty.Fd())) {
		fmt.Fprintf(cmd.ErrOrStderr(), "Value of %s (not shown): ", name)
		value, err := readHidden(cmd.Context(), int(tty.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		return value, err
	}
	// Room for the line end, and a byte more to see that it is too large.
	value, err := io.ReadAll(io.LimitReader(in, secret.MaxValue+3))
	if err != nil {
		return nil, fmt.Errorf("read value: %w", err)
	}
	return secret.TrimNewline(value), nil
}

// readHidden reads a line from a terminal without echo. An interrupt ends it
// and puts the echo back, which the read by itself would sit out.
func readHidden(ctx context.Context, fd int) ([]byte, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("read value: %w", err)
	}
	type line struct {
		value []byte
		err   error
	}
	read := make(chan line, 1)
	go func() {
		value, err := term.ReadPassword(fd)
		read <- line{value, err}
	}()
	select {
	case got := <-read:
		if got.err != nil {
			return nil, fmt.Errorf("read value: %w", got.err)
		}
		return got.value, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("read value: %w", errors.Join(ctx.Err(), term.Restore(fd, before)))
	}
}

// withHint tells the way out of what --multiline would accept.
func withHint(err error, multiline bool) error {
	var refused *secret.ValueError
	if multiline || !errors.As(err, &refused) || refused.Offset < 0 || errors.Is(err, store.ErrName) {
		return err
	}
	return fmt.Errorf("%w (if it isn't meant for a header: --multiline)", err)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/audit"
	"github.com/sallyport/sallyport/sandboxd/store"
	"github.com/sallyport/sallyport/sandboxd/store/sqlite"
)

func newStateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "state",
		Short:   "Check, back up and export what the service keeps",
		Example: "  sandboxd state check --state /var/lib/sallyport/sandboxd",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return errors.New("a command is required") },
	}
	dir := cmd.PersistentFlags().String("state", "", "state `DIR` of the service, which may be running")
	_ = cmd.MarkPersistentFlagRequired("state")
	_ = cmd.MarkPersistentFlagDirname("state")
	cmd.AddCommand(newStateCheckCommand(dir), newStateBackupCommand(dir), newStateAuditCommand(dir))
	return cmd
}

// reading runs work on the store of a directory.
func reading(ctx context.Context, dir string, work func(*sqlite.Store) error) error {
	s, err := sqlite.OpenToRead(ctx, dir)
	if err != nil {
		return failedError{err}
	}
	defer s.Close()
	if err := work(s); err != nil {
		return failedError{err}
	}
	return nil
}

func newStateCheckCommand(dir *string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check --state DIR",
		Short: "Read all there is and verify the audit record",
		Long: `Reads every page and every record, and follows the audit record from its first
entry to its end, which is printed. An end that was noted down earlier and is
given with --audit-head must lie on the record: whoever can write to the state
directory could otherwise make up a whole new one.`,
		Example: "  sandboxd state check --state /var/lib/sallyport/sandboxd",
		Args:    cobra.NoArgs,
	}
	known := cmd.Flags().StringArray("audit-head", nil, "an end of the audit record that was printed earlier, `SEQUENCE:DIGEST`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		heads, err := parseHeads(*known)
		if err != nil {
			return err
		}
		return reading(cmd.Context(), *dir, func(s *sqlite.Store) error {
			if err := s.Check(cmd.Context()); err != nil {
				return err
			}
			head, err := verifyAudit(cmd.Context(), s, heads)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the state is whole\naudit head %d:%s\n", head.Sequence, head.Digest)
			return err
		})
	}
	return cmd
}

func verifyAudit(ctx context.Context, s store.Store, known []audit.Head) (head audit.Head, err error) {
	err = s.View(ctx, func(r store.Reader) error {
		last, err := r.AuditHead()
		if err != nil {
			return err
		}
		head, err = audit.Verify(r.AuditLinks(0), &last, known...)
		return err
	})
	return head, err
}

func parseHeads(texts []string) ([]audit.Head, error) {
	var heads []audit.Head
	for _, text := range texts {
		var head audit.Head
		sequence, digest, _ := strings.Cut(text, ":")
		var err error
		if head.Sequence, err = strconv.ParseInt(sequence, 10, 64); err == nil {
			err = head.Digest.UnmarshalText([]byte(digest))
		}
		if err != nil {
			return nil, fmt.Errorf("--audit-head %q: expected SEQUENCE:DIGEST", text)
		}
		heads = append(heads, head)
	}
	return heads, nil
}

func newStateBackupCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "backup --state DIR FILE",
		Short: "Write a copy of the store",
		Long: fmt.Sprintf(`Writes a copy of one moment while the service goes on. To restore it, make it the
file %s of a state directory that no service uses.`, sqlite.File),
		Example: "  sandboxd state backup --state /var/lib/sallyport/sandboxd backup.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return reading(cmd.Context(), *dir, func(s *sqlite.Store) error {
				return s.Backup(cmd.Context(), args[0])
			})
		},
	}
}

func newStateAuditCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "audit --state DIR",
		Short: "Print the audit record, one entry a line",
		Long: `Prints each control action as JSON with the digest that seals it and all before
it.`,
		Example: "  sandboxd state audit --state /var/lib/sallyport/sandboxd > audit.jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return reading(cmd.Context(), *dir, func(s *sqlite.Store) error {
				return s.View(cmd.Context(), func(r store.Reader) error {
					return audit.Export(cmd.OutOrStdout(), r.AuditLinks(0))
				})
			})
		},
	}
}

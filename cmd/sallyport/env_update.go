package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

func newEnvUpdateCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update ENVIRONMENT [-f FILE] [flags]",
		Short: "Change an environment",
		Long: `Change an environment. What neither FILE nor a flag names stays, null in FILE
is what a new environment has, and anything else replaces the whole setting. The
change applies to sandboxes that start afterwards.

A change of who can be reached goes through only if nobody else has changed it
since this command looked.`,
		Example: `  sallyport env update env_01 --script setup.sh --verify
  sallyport env update env_01 --policy policy.yaml
  echo '{"env_vars": null}' | sallyport env update env_01 -f -`,
		Args: cobra.ExactArgs(1),
	}
	cmd.ValidArgsFunction = completeEnvironments(remote)
	flags := addSettingFlags(cmd)
	verify := cmd.Flags().Bool("verify", false, "run the setup script, and wait for the verdict")
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		change, err := flags.read()
		if err != nil {
			return err
		}
		if len(change) == 0 {
			return usageErrorf("nothing to change: name settings with flags or --file")
		}
		client, err := remote.connect()
		if err != nil {
			return err
		}
		data, changed, err := updateEnvironment(cmd, client, args[0], change)
		if err != nil {
			return fmt.Errorf("update environment: %w", err)
		}
		if *verify {
			return verifyEnvironment(cmd, client, changed.EnvironmentId, *format)
		}
		return showEnvironment(cmd, *format, data, changed)
	}
	return cmd
}

// updateEnvironment reads the environment and saves a change to it.
func updateEnvironment(cmd *cobra.Command, client *apiclient.ClientWithResponses, id string, change settings) (json.RawMessage, apiclient.Environment, error) {
	var saved struct {
		Provider      string          `json:"provider"`
		NetworkPolicy json.RawMessage `json:"network_policy"`
		Privileged    bool            `json:"privileged"`
	}
	var changed apiclient.Environment
	res, err := client.GetEnvironment(cmd.Context(), id)
	if _, err := answer(res, err, &saved); err != nil {
		return nil, changed, err
	}
	if change["network_policy"] != nil || change["privileged"] != nil {
		if change["expected_access"] == nil {
			if err := change.set("expected_access", expectedAccess{saved.NetworkPolicy, saved.Privileged}); err != nil {
				return nil, changed, err
			}
		}
	}
	var provider string
	if change["provider"] != nil && json.Unmarshal(change["provider"], &provider) == nil && provider != saved.Provider {
		// Consoles of the reference lock it (ledger CN-8).
		cmd.PrintErrf("note: the runtime changes from %s to %s; the setup script has to be verified again\n", printable(saved.Provider), printable(provider))
	}
	body, err := change.reader()
	if err != nil {
		return nil, changed, err
	}
	res, err = client.UpdateEnvironmentWithBody(cmd.Context(), id, &apiclient.UpdateEnvironmentParams{}, jsonType, body)
	data, err := answer(res, err, &changed)
	if refused := (*apiclient.Failure)(nil); errors.As(err, &refused) && refused.Status == http.StatusPreconditionFailed {
		err = fmt.Errorf("somebody else has just changed it; look at it and try again: %w", err)
	}
	return data, changed, err
}

// expectedAccess is what was last read, for a change of it.
type expectedAccess struct {
	NetworkPolicy json.RawMessage `json:"network_policy"`
	Privileged    bool            `json:"privileged"`
}

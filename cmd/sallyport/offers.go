package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

// newTemplateCommand returns the group of commands on setup templates.
func newTemplateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "template",
		Short:   "Setup scripts to start from",
		Long:    "Setup scripts to start from. Copy one and edit it." + connectHelp,
		Example: "  sallyport template list\n  sallyport template show python-uv > setup.sh",
	}
	remote := addRemoteFlags(cmd)
	cmd.AddCommand(newTemplateListCommand(remote), newTemplateShowCommand(remote))
	return cmd
}

// templates asks the service for its templates.
func templates(cmd *cobra.Command, remote *remoteFlags) (raw []json.RawMessage, all []apiclient.SetupTemplate, err error) {
	client, err := remote.connect()
	if err != nil {
		return nil, nil, err
	}
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	res, err := client.ListEnvironmentSetupTemplates(cmd.Context())
	data, err := answer(res, err, &list)
	if err != nil {
		return nil, nil, fmt.Errorf("list templates: %w", err)
	}
	var typed apiclient.AllSetupTemplate
	if err := json.Unmarshal(data, &typed); err != nil {
		return nil, nil, fmt.Errorf("list templates: %w", err)
	}
	return list.Data, typed.Data, nil
}

func newTemplateListCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List templates and the hosts that they need",
		Example: "  sallyport template list -o json", Args: cobra.NoArgs,
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		raw, all, err := templates(cmd, remote)
		if err != nil {
			return err
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), raw)
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "TEMPLATE\tTITLE\tHOSTS")
		for _, t := range all {
			fmt.Fprintf(table, "%s\t%s\t%s\n", printable(t.Id), printable(t.Title), printable(strings.Join(t.NetworkHosts, " ")))
		}
		return table.Flush()
	}
	return cmd
}

func newTemplateShowCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show TEMPLATE", Short: "Print the script of a template",
		Example: "  sallyport template show python-uv > setup.sh", Args: cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, all, err := templates(cmd, remote)
		if err != nil {
			return err
		}
		for _, t := range all {
			if t.Id == args[0] {
				cmd.Print(printable(t.Script))
				return nil
			}
		}
		return fmt.Errorf("there is no template %q: see \"sallyport template list\"", args[0])
	}
	return cmd
}

// newProviderCommand returns the group of commands on runtimes.
func newProviderCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "provider",
		Short:   "Runtimes that environments can name",
		Long:    "Runtimes that environments can name." + connectHelp,
		Example: "  sallyport provider list",
	}
	remote := addRemoteFlags(cmd)
	cmd.AddCommand(newProviderListCommand(remote))
	return cmd
}

func newProviderListCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List runtimes, and whether they work on this service",
		Example: "  sallyport provider list -o json", Args: cobra.NoArgs,
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := remote.connect()
		if err != nil {
			return err
		}
		var all apiclient.AllSandboxProvider
		res, err := client.ListSandboxProviders(cmd.Context())
		data, err := answer(res, err, &all)
		if err != nil {
			return fmt.Errorf("list providers: %w", err)
		}
		if *format == outputJSON {
			return printAnswer(cmd.OutOrStdout(), data)
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "PROVIDER\tNAME\tAVAILABLE\tCAPABILITIES")
		for _, p := range all.Data {
			works := "yes"
			if !p.Available {
				works = "no: " + printable(or(p.UnavailableReason))
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", p.Provider, printable(p.DisplayName), works, strings.Join(p.Capabilities, " "))
		}
		return table.Flush()
	}
	return cmd
}

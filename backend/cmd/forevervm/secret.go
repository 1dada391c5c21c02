package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) secretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "secret", Short: "Keep keys of services that machines use and never see",
		Long: "Keep keys of services in this computer's keyring. Code in a machine finds a placeholder in the environment variable\n" +
			"of the secret's name. Only the hosts that you name get the value, over HTTPS.",
	}
	cmd.AddCommand(a.secretListCommand(), a.secretSetCommand(), a.secretRemoveCommand())
	return cmd
}

func (a *app) secretListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the secrets, without their values", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := c.Secrets(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(api.List[api.Secret]{Items: all}, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "NAME\tHOSTS\tMACHINES\tKEPT")
				for _, one := range all {
					machines := "all"
					if one.Machines != nil {
						machines = strings.Join(one.Machines, ", ")
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.Name, strings.Join(one.Hosts, ", "), machines, one.CreatedAt.Local().Format(time.DateOnly))
				}
				table.Flush()
			})
		},
	}
}

func (a *app) secretSetCommand() *cobra.Command {
	var body api.NewSecret
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Keep a secret, which you type or give on standard input", Args: cobra.ExactArgs(1),
		Long: "Keep a secret, in place of one of the same name. You type its value, which is not shown, or give it on standard input.\n" +
			"Machines that are awake and do nothing have it at their next step; others when they next wake.",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if body.Value, err = a.readHidden("Enter the value of " + args[0] + ": "); err != nil {
				return err
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			kept, err := c.SetSecret(cmd.Context(), args[0], body)
			if err != nil {
				return err
			}
			return a.print(kept, func(w io.Writer) {
				fmt.Fprintf(w, "Kept. Code finds a placeholder in the environment variable %s; %s gets the value.\n", kept.Name, strings.Join(kept.Hosts, ", "))
			})
		},
	}
	cmd.Flags().StringSliceVar(&body.Hosts, "host", nil, "a host that gets the value, such as api.openai.com or *.openai.com; may be repeated")
	cmd.Flags().StringSliceVar(&body.Machines, "machine", nil, "a machine that may use it; may be repeated (default as before, and at first all)")
	_ = cmd.MarkFlagRequired("host") // it is there
	return cmd
}

func (a *app) secretRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget a secret", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.RemoveSecret(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.print(struct {
				Removed string `json:"removed"`
			}{args[0]}, func(w io.Writer) { fmt.Fprintf(w, "Forgotten: %s\n", args[0]) })
		},
	}
}

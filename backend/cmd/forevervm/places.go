package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) placesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "places", Short: "Let machines run on other computers",
		Long: "Let machines run on other computers with Linux, which you reach by ssh. Their code, variables and files are there.\n" +
			"You use them here. What they do on the network goes through this computer, by your rules.",
	}
	cmd.AddCommand(a.placesListCommand(), a.placesAddCommand(), a.placesRemoveCommand())
	return cmd
}

func (a *app) placesListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the places, and whether they work", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := c.Places(cmd.Context())
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(api.List[api.Place]{Items: all}, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "NAME\tSTATE")
				for _, one := range all {
					state := "works"
					for _, engine := range status.Engines {
						if engine.Name == one.Name && len(engine.Problems) > 0 {
							state = engine.Problems[0].What
						}
					}
					fmt.Fprintf(table, "%s\t%s\n", one.Name, state)
				}
				table.Flush()
			})
		},
	}
}

func (a *app) placesAddCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "add ssh HOST", Short: "Set a place up on a computer that you reach by ssh, or update it", Args: cobra.ExactArgs(2),
		Long: "Set a place up on a computer with Linux, or update the one that is there. HOST is as for ssh: its configuration, agent and\n" +
			"known hosts are used, and nothing of them is stored. ssh must get in without a password. Everything is put into one\n" +
			"folder of your home there. A first machine is run.",
		RunE: func(cmd *cobra.Command, args []string) error {
			place := api.NewPlace{Kind: args[0], Address: args[1]}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			facts, err := c.LookAtPlace(cmd.Context(), place)
			if err != nil {
				return err
			}
			if !yes && !facts.Installed {
				if !a.atTerminal() {
					return errors.New("this puts programs onto the other computer: say --yes where nobody can be asked")
				}
				if !a.agrees("%s runs %s (%s), with %s free. ForeverVM puts %s into %s there. Go on?",
					place.Address, facts.System, facts.Processor, bytesText(facts.FreeBytes), bytesText(facts.SizeBytes), facts.Folder) {
					return errors.New("nothing was changed")
				}
			}
			stop := (&execution{app: a, client: c}).showProgress(cmd.Context())
			added, err := c.AddPlace(cmd.Context(), place)
			stop()
			if err != nil {
				return err
			}
			return a.print(added, func(w io.Writer) {
				fmt.Fprintf(w, "A first machine ran at %s. Make others there with: forevervm machine new --engine %s\n", place.Address, added.Name)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) placesRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove what ForeverVM has put at a place, and forget it", Args: cobra.ExactArgs(1),
		Long: "Remove what ForeverVM has put at a place, and forget it. A place with machines stays, also with machines in the bin:\n" +
			"move them to this computer (machine move --to), or delete them for good (machine purge), first.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.RemovePlace(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.print(struct {
				Removed string `json:"removed"`
			}{args[0]}, func(w io.Writer) { fmt.Fprintf(w, "Removed: %s\n", args[0]) })
		},
	}
}

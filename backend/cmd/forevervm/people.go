package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

func (a *app) peopleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "people", Short: "Let people of a team use this computer's ForeverVM from theirs",
	}
	cmd.AddCommand(a.peopleListCommand(), a.peopleAddCommand(), a.peopleRenewCommand(), a.peopleRemoveCommand())
	return cmd
}

func (a *app) peopleListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the people, and those who were removed and still have machines", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := c.People(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(api.List[api.Person]{Items: all}, func(w io.Writer) {
				if len(all) == 0 {
					fmt.Fprintln(w, "There are no people; `forevervm people add NAME` adds one.")
					return
				}
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "NAME\tMACHINES\tADDED\tLAST USED\tSTATE")
				for _, p := range all {
					used, state := "never", "in the team"
					if p.UsedOn != nil {
						used = p.UsedOn.Format(time.DateOnly)
					}
					if p.RemovedAt != nil {
						state = "removed"
					}
					fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", printable(p.Name), p.Machines, p.MadeAt.Local().Format(time.DateOnly), used, state)
				}
				table.Flush()
			})
		},
	}
}

func (a *app) peopleAddCommand() *cobra.Command {
	return &cobra.Command{
		Use: "add NAME", Short: "Add a person, and print their token once", Args: cobra.ExactArgs(1),
		Long: "Add a person, and print their token, which is not shown again. With it they sign in at the\n" +
			"address of `forevervm serve --listen`, and use machines of their own there.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			made, err := c.AddPerson(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(made, func(w io.Writer) { fmt.Fprintln(w, made.Token) })
		},
	}
}

func (a *app) peopleRenewCommand() *cobra.Command {
	return &cobra.Command{
		Use: "renew NAME", Short: "Give a person a new token, and end the one before", Args: cobra.ExactArgs(1),
		Long: "Give a person a new token, and print it once. The one before opens nothing from now on, and what\n" +
			"it has open is closed. The person keeps their machines.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withPerson(cmd.Context(), args[0], func(c *client.Client, id string) error {
				made, err := c.RenewPerson(cmd.Context(), id)
				if err != nil {
					return err
				}
				return a.print(made, func(w io.Writer) { fmt.Fprintln(w, made.Token) })
			})
		},
	}
}

func (a *app) peopleRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "End a person's token; their machines stay", Args: cobra.ExactArgs(1),
		Long: "End a person's token, and close what it has open. Their machines stay, and code that runs in them\n" +
			"goes on: stop or delete them with `forevervm machine`. Nobody else gets them, also not a new person\n" +
			"of the same name.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withPerson(cmd.Context(), args[0], func(c *client.Client, id string) error {
				gone, err := c.RemovePerson(cmd.Context(), id)
				if err != nil {
					return err
				}
				return a.print(gone, func(w io.Writer) {
					fmt.Fprintf(w, "Removed: %s\n", printable(gone.Name))
					if gone.Machines > 0 {
						fmt.Fprintf(w, "Their machines (%d) stay for you: `forevervm machine list` shows them.\n", gone.Machines)
					}
				})
			})
		},
	}
}

// withPerson does something with the person of that name.
func (a *app) withPerson(ctx context.Context, name string, do func(c *client.Client, id string) error) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := c.People(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(p api.Person) bool { return strings.EqualFold(p.Name, name) && p.RemovedAt == nil })
	if i < 0 {
		return fmt.Errorf("there is no person called %q; `forevervm people list` lists them", name)
	}
	return do(c, all[i].ID)
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/home"
)

func (a *app) tokenCommand() *cobra.Command {
	var owner bool
	cmd := &cobra.Command{
		Use: "token", Short: "Print the token for SDKs; give programs and AI apps tokens of their own", Args: cobra.NoArgs,
		Long: "Print the token of this computer's daemon that SDKs and programs need. It opens what the tools of AI apps do with\n" +
			"machines, and no more. With --owner, print the one that opens everything, as the window and this command do.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := home.Resolve(a.home)
			if err != nil {
				return err
			}
			read := dirs.EnsureToken
			if owner {
				read = dirs.EnsureOwnerToken
			}
			token, err := read(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(struct {
				Token string `json:"token"`
			}{token}, func(w io.Writer) { fmt.Fprintln(w, token) })
		},
	}
	cmd.Flags().BoolVar(&owner, "owner", false, "the token that opens everything: keep it to yourself")
	cmd.AddCommand(a.tokenListCommand(), a.tokenNewCommand(), a.tokenAllowCommand("revoke", false), a.tokenAllowCommand("allow", true))
	return cmd
}

func (a *app) tokenListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the AI apps and programs that have a token of their own", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := c.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(api.List[api.Grant]{Items: all}, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "NAME\tKIND\tMADE\tLAST USED\tSTATE")
				for _, g := range all {
					used, state := "never", "allowed"
					if g.UsedOn != nil {
						used = g.UsedOn.Format(time.DateOnly)
					}
					if g.Revoked {
						state = "locked out"
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", printable(g.Name), g.Kind, g.MadeAt.Local().Format(time.DateOnly), used, state)
				}
				table.Flush()
			})
		},
	}
}

func (a *app) tokenNewCommand() *cobra.Command {
	return &cobra.Command{
		Use: "new NAME", Short: "Make a token for one program, which can be revoked alone", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			made, err := c.NewToken(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(made, func(w io.Writer) { fmt.Fprintln(w, made.Token) })
		},
	}
}

func (a *app) tokenAllowCommand(verb string, allowed bool) *cobra.Command {
	short, done := "Lock an AI app out, or delete a program's token", "Revoked: %s\n"
	if allowed {
		short, done = "Allow an AI app again that was locked out", "Allowed: %s\n"
	}
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := c.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(all, func(g api.Grant) bool { return g.Name == args[0] && g.Revoked == allowed })
			if i < 0 {
				return fmt.Errorf("there is no token of that name to %s; `forevervm token list` lists them", verb)
			}
			now, err := c.AllowToken(cmd.Context(), all[i].ID, allowed)
			if err != nil {
				return err
			}
			return a.print(now, func(w io.Writer) { fmt.Fprintf(w, done, printable(now.Name)) })
		},
	}
}

func (a *app) recordCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "record", Short: "Show what crossed the line between machines and this computer", Args: cobra.NoArgs,
		Long: "Show the record of what was shared, allowed, given away and changed, newest first, and which token asked for it.\n" +
			"The record only grows. A line that was changed or removed shows.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			page, err := c.Record(cmd.Context(), limit)
			if err != nil {
				return err
			}
			return a.print(page, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "NO\tAT\tWHAT\tMACHINE\tABOUT\tBY")
				for _, e := range page.Items {
					fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", e.N, e.At.Local().Format(time.DateTime), e.Action, e.Machine, printable(e.About), printable(cmp.Or(e.By, e.Program)))
				}
				table.Flush()
				if page.Broken > 0 {
					fmt.Fprintf(w, "The record was changed from outside: entry %d does not follow from the one before.\n", page.Broken)
				}
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many entries, at most 500")
	return cmd
}

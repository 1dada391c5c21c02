package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

func (a *app) rewindCommand() *cobra.Command {
	var undo bool
	var keepAs string
	cmd := &cobra.Command{
		Use: "back NAME CHECKPOINT|BRANCH", Aliases: []string{"rewind"}, Short: "Return a machine to one of its checkpoints, or to a branch", Args: cobra.RangeArgs(1, 2),
		Long: `Return a machine to one of its checkpoints, or to the end of a branch.

What it leaves stays as a branch, so a rewind can be undone: with --undo, or with the name of the branch in place of a checkpoint.`,
		Example:           "  forevervm machine back brave-otter-42 --undo\n  forevervm machine back brave-otter-42 'with outliers'",
		ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			if undo == (len(args) == 2) {
				return errors.New("say either where to go back to, a checkpoint or a branch, or --undo")
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			before, err := c.Machine(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			to := before.Undo
			if !undo {
				to = args[1]
			}
			if to == "" {
				return fmt.Errorf("there is no rewind of %s to undo", before.Name)
			}
			m, err := c.Rewind(cmd.Context(), args[0], api.Rewind{Checkpoint: to, KeepAs: keepAs})
			if err != nil {
				return err
			}
			branch := ""
			if m.Undo != before.Undo {
				if branch, err = branchAt(cmd.Context(), c, m); err != nil {
					return err
				}
			}
			return a.print(m, func(w io.Writer) {
				if undo {
					fmt.Fprintf(w, "%s is as it was before the last rewind.\n", m.Name)
				} else {
					fmt.Fprintf(w, "%s is as it was at %s.\n", m.Name, printable(to))
				}
				if branch != "" {
					fmt.Fprintf(w, "What it was until now stays as the branch %q; `forevervm machine back %s --undo` goes back to it.\n", branch, m.Name)
				}
			})
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "go back to what the last rewind left")
	cmd.Flags().StringVar(&keepAs, "keep-as", "", "the name of the branch that is left (default: the time)")
	return cmd
}

// branchAt is the name of the branch that a machine's last rewind left; empty where that is none.
func branchAt(ctx context.Context, c *client.Client, m api.Machine) (string, error) {
	branches, err := c.Branches(ctx, m.Name)
	for _, b := range branches {
		if b.Checkpoint == m.Undo {
			return b.Name, nil
		}
	}
	return "", err
}

func (a *app) branchesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "branches NAME", Short: "List a machine's branches, the last left first", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Branches(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(api.List[api.Branch]{Items: all}, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "BRANCH\tCHECKPOINT\tLEFT\tSTEPS OF ITS OWN")
				for _, b := range all {
					fmt.Fprintf(table, "%s\t%s\t%s\t%d\n", printable(b.Name), b.Checkpoint, ago(b.LeftAt), b.Steps)
				}
				table.Flush()
			})
		},
	}
}

func (a *app) branchCommand() *cobra.Command {
	group := &cobra.Command{Use: "branch", Short: "Rename and delete a machine's branches"}
	group.AddCommand(a.branchRenameCommand(), a.branchDeleteCommand())
	return group
}

func (a *app) branchRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rename NAME BRANCH NEW-NAME", Short: "Name a branch; a named branch stays until it is deleted", Args: cobra.ExactArgs(3), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.RenameBranch(cmd.Context(), args[0], args[1], args[2]); err != nil {
				return err
			}
			named := api.BranchChange{Name: strings.TrimSpace(args[2])}
			return a.print(named, func(w io.Writer) { fmt.Fprintf(w, "The branch is called %s now.\n", printable(named.Name)) })
		},
	}
}

func (a *app) branchDeleteCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete NAME BRANCH", Short: "Delete a branch, with the automatic checkpoints that only it has", Args: cobra.ExactArgs(2), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			branch := args[1]
			return a.remove(cmd, yes, "Delete this branch of %s for good? Its state cannot be returned to then.", "The branch of %s is gone.", args[0],
				func(c *client.Client, ctx context.Context, name string) error {
					return c.DeleteBranch(ctx, name, branch)
				})
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

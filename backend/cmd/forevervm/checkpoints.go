package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) checkpointCommand() *cobra.Command {
	var label string
	cmd := &cobra.Command{
		Use: "checkpoint NAME", Short: "Save a machine's state, to return to it later", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			made, err := c.Checkpoint(cmd.Context(), args[0], label)
			if err != nil {
				return err
			}
			return a.print(made, func(w io.Writer) { fmt.Fprintln(w, made.ID) })
		},
	}
	cmd.Flags().StringVar(&label, "label", "", "what the state is")
	return cmd
}

func (a *app) checkpointsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "checkpoints NAME", Short: "List a machine's checkpoints, newest first", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Checkpoints(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(api.List[api.Checkpoint]{Items: all}, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "CHECKPOINT\tMADE\tKIND\tAFTER\tSIZE\tBRANCH\tLABEL")
				for _, c := range all {
					after := "-"
					if c.LastSeq >= 0 {
						after = fmt.Sprintf("step %d", c.LastSeq+1)
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.ID, ago(c.CreatedAt), c.Kind, after, bytesText(c.Size), printable(c.Branch), printable(c.Label))
				}
				table.Flush()
			})
		},
	}
}

// ago says how long ago something was.
func ago(t time.Time) string {
	switch d := time.Since(t); {
	case t.IsZero():
		return "-"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return t.Local().Format(time.DateOnly)
	}
}

// bytesText is a size as the window writes it: in powers of 1,000, with one digit behind the point
// where it is small.
func bytesText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB", "TB"} {
		if value < 999.5 {
			break
		}
		value, unit = value/1000, next
	}
	if value < 9.95 {
		return fmt.Sprintf("%.1f %s", value, unit)
	}
	return fmt.Sprintf("%.0f %s", value, unit)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) storageCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "storage", Short: "Show what takes room on the disk, or free some of it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			now, err := c.Storage(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(now, func(w io.Writer) { writeStorage(w, now) })
		},
	}
	var what api.FreeUp
	free := &cobra.Command{
		Use: "free", Short: "Delete what you choose, for good", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if what == (api.FreeUp{}) {
				return errors.New("choose what to delete: --bin, --checkpoints, --packages, or several. `forevervm storage` shows how much each one frees")
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			now, err := c.FreeUp(cmd.Context(), what)
			if err != nil {
				return err
			}
			return a.print(now, func(w io.Writer) { writeStorage(w, now) })
		},
	}
	free.Flags().BoolVar(&what.Bin, "bin", false, "the machines in the bin")
	free.Flags().BoolVar(&what.Checkpoints, "checkpoints", false, "automatic checkpoints; each machine keeps its present state, its branches, and the checkpoints that you made")
	free.Flags().BoolVar(&what.Packages, "packages", false, "downloaded packages, which are downloaded again when a machine wants them")
	group.AddCommand(free)
	return group
}

func writeStorage(w io.Writer, now api.Storage) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(bytes int64, what string) { fmt.Fprintf(table, "%s\t  %s\n", bytesText(bytes), what) }
	for _, m := range now.Machines {
		name := m.Name
		if m.Deleted {
			name += " (in the bin)"
		}
		row(m.Bytes, name)
	}
	row(now.SharedBytes, "shared by all machines: Python and its packages")
	row(now.PackagesBytes, "downloaded packages")
	row(now.UsedBytes, "in all")
	row(now.FreeBytes, "free on the disk")
	table.Flush()
	if now.BinBytes+now.CheckpointsBytes+now.PackagesBytes == 0 {
		return
	}
	fmt.Fprintln(w, "\nTo free some of it: forevervm storage free")
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row(now.BinBytes, "--bin")
	row(now.CheckpointsBytes, fmt.Sprintf("--checkpoints (%d of them)", now.Checkpoints))
	row(now.PackagesBytes, "--packages")
	table.Flush()
}

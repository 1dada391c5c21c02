package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
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
	group.AddCommand(free, a.storageMoveCommand())
	return group
}

func (a *app) storageMoveCommand() *cobra.Command {
	var back bool
	cmd := &cobra.Command{
		Use: "move [FOLDER]", Short: "Move ForeverVM's files to another disk, or back", Args: cobra.MaximumNArgs(1),
		Long: "Move ForeverVM's files to another disk, or back. They get a folder of their own in FOLDER, ForeverVM.\nMachines are saved first, and nothing can run until the move is done. The files are copied and read back before the old ones are removed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if back == (len(args) == 1) {
				return errors.New("say where to move the files: a folder on another disk, or --back for their usual place")
			}
			folder := ""
			if !back {
				var err error
				if folder, err = filepath.Abs(args[0]); err != nil {
					return err
				}
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			if _, err := c.Move(cmd.Context(), folder); err != nil {
				return err
			}
			now, err := a.watchMove(cmd.Context(), c)
			if err != nil {
				return err
			}
			return a.print(now, func(w io.Writer) { fmt.Fprintf(w, "ForeverVM's files are in %s.\n", now.Folder) })
		},
	}
	cmd.Flags().BoolVar(&back, "back", false, "move them back to their usual place")
	return cmd
}

const (
	lookAtMoveEvery = 500 * time.Millisecond
	// noAnswerWithin is how long a daemon that moves its files may say nothing: it saves machines
	// first.
	noAnswerWithin = 3 * time.Minute
)

// watchMove says how far the move is, until it has ended.
func (a *app) watchMove(ctx context.Context, c *client.Client) (api.Move, error) {
	answered, said := time.Now(), ""
	for {
		now, err := c.Moving(ctx)
		switch {
		case err != nil && (ctx.Err() != nil || time.Since(answered) > noAnswerWithin):
			return now, err
		case err != nil:
		case now.State == api.MoveFailed:
			return now, errors.New(now.Problem)
		case now.State == api.MoveUnderWay:
			answered = time.Now()
			share := "Saving the machines…"
			if now.TotalBytes > 0 {
				share = fmt.Sprintf("%d %% of %s", 100*now.DoneBytes/now.TotalBytes, bytesText(now.TotalBytes))
			}
			if share != said {
				said = share
				fmt.Fprintln(a.err, said)
			}
		default:
			return now, nil
		}
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-time.After(lookAtMoveEvery):
		}
	}
}

func writeStorage(w io.Writer, now api.Storage) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(bytes int64, what string) { fmt.Fprintf(table, "%s\t  %s\n", bytesText(bytes), what) }
	several := slices.ContainsFunc(now.Machines, func(m api.MachineStorage) bool { return m.Engine != now.Machines[0].Engine })
	for _, m := range now.Machines {
		name := m.Name
		if several {
			name += " (" + m.Engine + ")"
		}
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

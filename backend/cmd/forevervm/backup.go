package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) backupCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "backup", Short: "Show the backups of machines, or make them now", Args: cobra.NoArgs,
		Long: "Machines are backed up each night into a folder of yours, once you choose one: `forevervm settings set backup_folder FOLDER`.\n" +
			"A machine with the tag no-backup is left out. To restore a copy: `forevervm machine open FILE`.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			now, err := c.Backups(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(now, func(w io.Writer) { writeBackups(w, now) })
		},
	}
	group.AddCommand(&cobra.Command{
		Use: "now", Short: "Copy the machines that have changed, and wait for the end", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.backUp(cmd.Context()) },
	})
	return group
}

// backUp makes a round of backups.
func (a *app) backUp(ctx context.Context) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	now, err := c.BackUp(ctx)
	for err == nil && now.Running {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
		now, err = c.Backups(ctx)
	}
	if err != nil {
		return err
	}
	if now.Problem != "" {
		return errors.New(now.Problem)
	}
	return a.print(now, func(w io.Writer) { writeBackups(w, now) })
}

func writeBackups(w io.Writer, now api.Backups) {
	if now.Folder == "" {
		fmt.Fprintln(w, "There are no backups. Choose a folder: forevervm settings set backup_folder FOLDER")
		return
	}
	good := "never"
	if now.GoodAt != nil {
		good = now.GoodAt.Local().Format("2 January 2006, 15:04")
	}
	fmt.Fprintf(w, "folder     %s\nlast good  %s\n", now.Folder, good)
	if now.Problem != "" {
		fmt.Fprintln(w, now.Problem)
	}
	if len(now.Copies) == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nMACHINE\tSIZE\tMADE\tFILE")
	for _, one := range now.Copies {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.Machine, bytesText(one.Size), one.At.Local().Format("2 January 2006, 15:04"), one.File)
	}
	table.Flush()
}

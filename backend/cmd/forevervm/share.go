package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) shareCommand() *cobra.Command {
	var writable, none bool
	cmd := &cobra.Command{
		Use: "share NAME [FOLDER]", Short: "Share a folder of this computer with a machine, or show the shared one", Args: cobra.RangeArgs(1, 2),
		Long: `Let a machine see a folder of this computer, or show which one it sees.

Code in the machine finds it at /mnt/shared, as it is at each moment. It may read what is in it; with --writable it may also change it, add files
and delete them, which nothing here brings back. What it reads it can send to whatever the machine may reach (forevervm machine network). A machine sees one folder at most: another takes its place. It is never part of a checkpoint, and
forks and saved files of the machine have none. A machine in memory is saved and comes back for it.

Files that are open in the machine and have changed, moved or gone when it comes back into memory may not be usable any more: they are to be opened again.`,
		Example:           "  forevervm machine share brave-otter-42 ~/Documents/Report\n  forevervm machine share brave-otter-42 --none",
		ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case none && (len(args) == 2 || writable):
				return errors.New("--none stops sharing: it goes without a folder and without --writable")
			case writable && len(args) == 1:
				return errors.New("--writable goes with the FOLDER that is to be shared")
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			var m api.Machine
			switch {
			case none:
				m, err = c.StopSharing(cmd.Context(), args[0])
			case len(args) == 2:
				var folder string
				if folder, err = filepath.Abs(args[1]); err == nil {
					m, err = c.Share(cmd.Context(), args[0], folder, writable)
				}
			default:
				m, err = c.Machine(cmd.Context(), args[0])
			}
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) { writeShared(w, m) })
		},
	}
	cmd.Flags().BoolVar(&writable, "writable", false, "code in the machine may change, add and delete files in it")
	cmd.Flags().BoolVar(&none, "none", false, "stop sharing")
	return cmd
}

func writeShared(w io.Writer, m api.Machine) {
	switch f := m.Shared; {
	case f == nil:
		fmt.Fprintf(w, "%s sees no folder of this computer.\n", m.Name)
		return
	case f.Writable:
		fmt.Fprintf(w, "%s sees %s at /mnt/shared, and may change it.\n", m.Name, printable(f.Path))
	default:
		fmt.Fprintf(w, "%s sees %s at /mnt/shared, and may only read it.\n", m.Name, printable(f.Path))
	}
	if m.Shared.Problem != "" {
		fmt.Fprintln(w, m.Shared.Problem)
	}
}

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/daemon"
)

// checkpointsStoreCommand looks after how checkpoints are kept, for all machines together.
func (a *app) checkpointsStoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "checkpoints", Short: "Check and repair the stored checkpoints",
		Long: "All checkpoints of a machine but the newest are kept as blocks that all machines share. `forevervm machine checkpoints NAME` lists a machine's.",
	}
	readData := false
	check := &cobra.Command{
		Use: "check", Short: "Check whether every checkpoint can be restored; changes nothing", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := daemon.CheckCheckpoints(cmd.Context(), a.home, readData)
			if err != nil {
				return err
			}
			return a.printReport(report, "Run `forevervm checkpoints repair` to mend what can be mended; it says what is lost for good.")
		},
	}
	check.Flags().BoolVar(&readData, "read-data", false, "read every byte: finds what the disk has changed, takes longer")
	repair := &cobra.Command{
		Use: "repair", Short: "Repair damaged files, and set aside what cannot be restored", Args: cobra.NoArgs,
		Long: "Reads every byte, rewrites damaged files with their intact parts, and sets aside checkpoints that can no longer be restored.\n" +
			"If ForeverVM is running, it is ended for this, which saves every machine, and started again afterwards.",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ran, err := connect.Stop(cmd.Context(), a.connection())
			if err != nil {
				return err
			}
			if ran {
				defer func() {
					client, again := connect.Daemon(cmd.Context(), a.connection())
					if again == nil {
						client.Close()
					}
					err = errors.Join(err, again)
				}()
			}
			report, err := daemon.RepairCheckpoints(cmd.Context(), a.home)
			if err != nil {
				return err
			}
			return a.printReport(report, "")
		},
	}
	cmd.AddCommand(check, repair)
	return cmd
}

// printReport says what was found, and fails where something is lost, or is to be done.
func (a *app) printReport(r daemon.CheckpointReport, do string) error {
	err := a.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%d checkpoints in %d blocks in %d files, %s; %d checkpoints as they were written\n", r.Checkpoints, r.Blocks, r.Packs, bytesText(r.Bytes), r.Whole)
		for _, sentence := range r.Damage {
			fmt.Fprintln(w, printable(sentence))
		}
		for _, sentence := range r.Left {
			fmt.Fprintln(w, "Left as it is:", printable(sentence))
		}
		for _, path := range r.Aside {
			fmt.Fprintf(w, "What was damaged is kept as %s. It may hold what machines held: delete it once nothing is missed.\n", printable(path))
		}
		for _, lost := range r.Lost {
			owner := "the template"
			if lost.Machine != "" {
				owner = "machine " + lost.Machine
			}
			fmt.Fprintf(w, "Checkpoint %s of %s cannot be restored: %s\n", lost.Checkpoint, owner, printable(lost.Why))
			if lost.Instead != "" {
				fmt.Fprintf(w, "  The nearest that can be is %s.\n", lost.Instead)
			}
		}
	})
	switch {
	case err != nil:
		return err
	case len(r.Lost) > 0:
		return fmt.Errorf("%d checkpoints cannot be restored. %s", len(r.Lost), do)
	case len(r.Damage) > 0 && do != "":
		return errors.New("files of checkpoints are damaged. " + do)
	case len(r.Left) > 0:
		return errors.New("not all could be checked. What a newer ForeverVM made needs that one; what cannot be read may be readable when the disk is well again")
	}
	return nil
}

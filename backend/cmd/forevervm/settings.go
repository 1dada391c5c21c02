package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) settingsCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "settings", Short: "Show the settings", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			now, err := c.Settings(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(now, func(w io.Writer) { writeSettings(w, now) })
		},
	}
	group.AddCommand(&cobra.Command{
		Use: "set NAME VALUE", Short: "Change a setting; the value “default” resets it", Args: cobra.ExactArgs(2),
		Example: "  forevervm settings set idle_swap 20m\n  forevervm settings set bin_retention 30d\n  forevervm settings set max_in_memory_mb 8192",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			now, err := c.ChangeSettings(cmd.Context(), map[string]any{args[0]: settingValue(args[0], args[1])})
			if err != nil {
				return err
			}
			return a.print(now, func(w io.Writer) { writeSettings(w, now) })
		},
	})
	return group
}

// settingValue is a value as it was typed, for JSON. Lists are written with commas.
func settingValue(name, typed string) any {
	if typed == "default" {
		return nil
	}
	if strings.HasSuffix(name, "_hosts") || strings.HasSuffix(name, "_approved") {
		return strings.FieldsFunc(typed, func(r rune) bool { return r == ',' || r == ' ' })
	}
	if n, err := strconv.ParseInt(typed, 10, 64); err == nil {
		return n
	}
	return typed
}

func writeSettings(w io.Writer, s api.Settings) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVALUE\tMEANING")
	fmt.Fprintf(table, "new_machines\t%s\twhere new machines are made: local, or hosted (after `forevervm login`)\n", s.NewMachines)
	fmt.Fprintf(table, "idle_swap\t%s\tan idle machine leaves memory after this\n", s.IdleSwap)
	fmt.Fprintf(table, "checkpoint_after_idle\t%s\ta changed machine is saved once idle for this long\n", s.CheckpointAfterIdle)
	fmt.Fprintf(table, "checkpoint_every\t%s\thow often a working machine is saved automatically: each (after each piece of work), a time (at most once in it), manual (only when it leaves memory)\n", s.CheckpointEvery)
	fmt.Fprintf(table, "keep_all_checkpoints\t%s\tevery automatic checkpoint is kept for this long (0s: only a machine's latest is)\n", s.KeepAllCheckpoints)
	fmt.Fprintf(table, "keep_hourly_checkpoints\t%s\tand then one an hour, up to this age\n", s.KeepHourlyCheckpoints)
	fmt.Fprintf(table, "keep_daily_checkpoints\t%s\tand then one a day, up to this age\n", s.KeepDailyCheckpoints)
	fmt.Fprintf(table, "checkpoint_budget_mb\t%d\tMiB of older checkpoints; beyond it the oldest automatic ones go (0: 10240, or a tenth of the room)\n", s.CheckpointBudgetMB)
	fmt.Fprintf(table, "bin_retention\t%s\ta machine stays in the bin for this long\n", s.BinRetention)
	fmt.Fprintf(table, "max_in_memory_mb\t%d\tMiB of all machines; beyond it idle ones leave memory, and others wait (0: no limit)\n", s.MaxInMemoryMB)
	fmt.Fprintf(table, "min_free_memory_percent\t%d\tof the computer's memory to leave free: machines wait until there is room\n", s.MinFreeMemoryPercent)
	fmt.Fprintf(table, "min_free_memory_mb\t%d\tMiB of it to leave free in place of that (0: the percentage holds)\n", s.MinFreeMemoryMB)
	fmt.Fprintf(table, "update_check\t%s\twhether ForeverVM checks for newer releases automatically: daily or off\n", s.UpdateCheck)
	fmt.Fprintf(table, "backup_folder\t%s\twhere machines are backed up each night (empty: nowhere)\n", s.BackupFolder)
	fmt.Fprintf(table, "backup_keep\t%d\tso many copies of each machine are kept there\n", s.BackupKeep)
	fmt.Fprintf(table, "vm_memory_mb\t%d\tmacOS: the virtual machine takes so much memory at most, from its next start on (0: half of the computer's)\n", s.VMMemoryMB)
	fmt.Fprintf(table, "vm_disk_mb\t%d\tmacOS: the virtual machine's disk takes so much at most, and is never made smaller (0: 65536)\n", s.VMDiskMB)
	fmt.Fprintf(table, "network\t%s\twhat machines may reach that have no policy of their own: off, ask, public, list\n", s.Network)
	fmt.Fprintf(table, "network_hosts\t%s\thosts named for these machines, with commas in between\n", strings.Join(s.NetworkHosts, ","))
	fmt.Fprintf(table, "network_approved\t%s\tpublic hosts that were approved of for all machines when one asked\n", strings.Join(s.NetworkApproved, ","))
	table.Flush()
}

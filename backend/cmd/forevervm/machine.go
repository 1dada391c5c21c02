package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

func (a *app) machineCommand() *cobra.Command {
	group := &cobra.Command{Use: "machine", Aliases: []string{"machines"}, Short: "Make, run and remove machines"}
	group.AddCommand(
		a.newCommand(), a.listCommand(), a.machineReplCommand(), a.filesCommand(),
		a.forkCommand(), a.moveCommand(), a.tagCommand(), a.limitCommand(), a.deleteCommand(), a.purgeCommand(),
		a.checkpointCommand(), a.checkpointsCommand(), a.packCommand(), a.unpackCommand(), a.makersCommand(),
		a.networkCommand(), a.connectionsCommand(), a.answerCommand(), a.shareCommand(),
		a.onMachine("sleep NAME", "Save a machine to disk and free its memory", "%s is asleep. It wakes when it is used.", (*client.Client).Swap, "swap"),
		a.onMachine("wake NAME", "Bring a machine into memory", "%s is awake.", (*client.Client).Wake),
		a.onMachine("stop NAME", "Stop the code that runs in a machine", "The code in %s was told to stop.", (*client.Client).Interrupt, "interrupt"),
		a.onMachine("restore NAME", "Take a machine out of the bin", "%s is back.", (*client.Client).RestoreMachine),
		a.changing("rename NAME NEW-NAME", "Rename a machine; the old name keeps working", "The machine is called %s now.",
			func(value string) (api.MachineChange, error) { return api.MachineChange{Name: &value}, nil }),
		a.changing("title NAME TEXT", "Say what a machine is for", "%s has a new title.",
			func(value string) (api.MachineChange, error) { return api.MachineChange{Title: &value}, nil }),
		a.rewindCommand(), a.branchesCommand(), a.branchCommand(), a.compareCommand(),
	)
	return group
}

// onMachine is a command that does one thing to one machine.
func (a *app) onMachine(use, short, done string, do func(*client.Client, context.Context, string) (api.Machine, error), aliases ...string) *cobra.Command {
	return &cobra.Command{
		Use: use, Aliases: aliases, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			m, err := do(c, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) { fmt.Fprintf(w, done+"\n", m.Name) })
		},
	}
}

// changing is a command that changes one property of a machine.
func (a *app) changing(use, short, done string, change func(value string) (api.MachineChange, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(2), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			changed, err := change(args[1])
			if err != nil {
				return err
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			m, err := c.UpdateMachine(cmd.Context(), args[0], changed)
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) { fmt.Fprintf(w, done+"\n", m.Name) })
		},
	}
}

// machineFlags are what may be said of a machine that is made.
type machineFlags struct {
	tags []string
	made api.NewMachine
}

func (f *machineFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.tags, "tag", nil, "key=value; may be repeated")
	flags.StringVar(&f.made.Name, "name", "", "its name (default: a made-up one)")
	flags.StringVar(&f.made.Title, "title", "", "what it is for")
	flags.IntVar(&f.made.MemoryMB, "memory-mb", 0, "how much memory Python may use, in MiB (default 2048)")
	flags.StringVar(&f.made.Engine, "engine", "", "where it runs: native, docker, vm, wsl, hosted, a place such as ssh:HOST, or auto, which is the first that works on this computer (default: the setting new_machines)")
	flags.StringVar(&f.made.Image, "image", "", "installed libraries: base, or ml with torch and transformers (default base)")
}

func (f *machineFlags) machine() (api.NewMachine, error) {
	var err error
	f.made.Tags, err = tags(f.tags)
	return f.made, err
}

func (a *app) newCommand() *cobra.Command {
	var flags machineFlags
	cmd := &cobra.Command{
		Use: "new", Short: "Make a machine and print its name", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := flags.machine()
			if err != nil {
				return err
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			m, err := c.CreateMachine(cmd.Context(), wanted)
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) { fmt.Fprintln(w, m.Name) })
		},
	}
	flags.add(cmd)
	return cmd
}

func (a *app) forkCommand() *cobra.Command {
	var flags machineFlags
	cmd := &cobra.Command{
		Use: "copy NAME", Aliases: []string{"fork"}, Short: "Make a copy of a machine", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := flags.machine()
			if err != nil {
				return err
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			m, err := c.Fork(cmd.Context(), args[0], wanted)
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) { fmt.Fprintln(w, m.Name) })
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.made.Checkpoint, "checkpoint", "", "the state to start from (default: the present one)")
	return cmd
}

func (a *app) moveCommand() *cobra.Command {
	var move api.MachineMove
	cmd := &cobra.Command{
		Use: "move NAME --to PLACE", Short: "Move a machine to another place", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		Long: "Move a machine to another place: one of `forevervm engines`. Its variables, files, history,\n" +
			"kept checkpoints and branches go along. A move to or from another computer deletes its automatic checkpoints of the past.\n" +
			"Code that runs is paused, and goes on there. Both computers need the same kind of processor. Kept checkpoints of an\n" +
			"older version of the sandbox cannot go along. Nothing is deleted before the copy is complete. The move goes on when\n" +
			"you end this command.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			m, err := c.MoveMachine(cmd.Context(), args[0], move)
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) { fmt.Fprintf(w, "%s is at %s now.\n", m.Name, m.Engine) })
		},
	}
	cmd.Flags().StringVar(&move.Engine, "to", "", "where to: native, docker, vm, wsl, or a place such as ssh:HOST")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func (a *app) tagCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tag NAME KEY=VALUE… KEY-…", Short: "Set tags of a machine; KEY- removes one", Args: cobra.MinimumNArgs(2), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			change := api.MachineChange{Tags: map[string]*string{}}
			for _, arg := range args[1:] {
				key, value, ok := strings.Cut(arg, "=")
				switch {
				case ok && key != "":
					change.Tags[key] = &value
				case !ok && strings.HasSuffix(arg, "-") && len(arg) > 1:
					change.Tags[strings.TrimSuffix(arg, "-")] = nil
				default:
					return fmt.Errorf("%q is not a tag: write key=value to set one, key- to remove it", arg)
				}
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			m, err := c.UpdateMachine(cmd.Context(), args[0], change)
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) { fmt.Fprintln(w, m.Name, describeTags(m.Tags)) })
		},
	}
}

func (a *app) limitCommand() *cobra.Command {
	return a.changing("limit NAME MEGABYTES", "Change how much memory a machine may use", "The memory limit of %s is changed.",
		func(value string) (api.MachineChange, error) {
			mb, err := strconv.Atoi(value)
			if err != nil || mb <= 0 {
				return api.MachineChange{}, fmt.Errorf("%q is not a number of megabytes", value)
			}
			return api.MachineChange{MemoryMB: &mb}, nil
		})
}

func (a *app) deleteCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Move a machine to the bin; it can be restored for seven days (setting bin_retention)", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.remove(cmd, yes, "Move %s to the bin? It can be restored from there.", "%s is in the bin; `forevervm machine restore %[1]s` takes it out.", args[0], (*client.Client).DeleteMachine)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a *app) purgeCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "purge NAME", Short: "Delete a machine for good, with its history and files", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.remove(cmd, yes, "Remove %s for good, with its history and files? This cannot be undone.", "%s is gone for good.", args[0], (*client.Client).PurgeMachine)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// remove asks the person, if there is one, and removes.
func (a *app) remove(cmd *cobra.Command, yes bool, question, done, name string, do func(*client.Client, context.Context, string) error) error {
	if !yes && !a.json && a.atTerminal() && !a.agrees(question, name) {
		return errors.New("nothing was removed")
	}
	c, err := a.connect(cmd.Context())
	if err != nil {
		return err
	}
	if err := do(c, cmd.Context(), name); err != nil {
		return err
	}
	return a.print(struct {
		Name string `json:"name"`
	}{name}, func(w io.Writer) { fmt.Fprintf(w, done+"\n", name) })
}

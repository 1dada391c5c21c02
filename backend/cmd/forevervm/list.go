package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

func (a *app) listCommand() *cobra.Command {
	var pairs []string
	var filter client.MachineFilter
	var watch bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List machines, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.Tags, err = tags(pairs); err != nil {
				return err
			}
			for i, word := range filter.States {
				filter.States[i] = stateNamed(word)
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			if watch {
				return a.watch(cmd.Context(), c, filter)
			}
			machines, err := all(cmd.Context(), c, filter)
			if err != nil {
				return err
			}
			return a.print(api.List[api.Machine]{Items: machines}, func(w io.Writer) { writeMachines(w, machines) })
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&pairs, "tag", nil, "only with this tag, key=value; may be repeated")
	flags.StringArrayVar(&filter.States, "state", nil, "only in this state: asleep, waking up, ready, running, falling asleep; may be repeated")
	flags.StringVar(&filter.Engine, "engine", "", "only of this engine")
	flags.StringVar(&filter.Text, "search", "", "only with this text in name, titles or tags")
	flags.BoolVar(&filter.Deleted, "deleted", false, "what is in the bin instead")
	flags.BoolVarP(&watch, "watch", "w", false, "go on and show every change (with --json: one document a line)")
	return cmd
}

func all(ctx context.Context, c *client.Client, filter client.MachineFilter) ([]api.Machine, error) {
	machines := []api.Machine{}
	filter.Limit = 1000
	for m, err := range c.AllMachines(ctx, filter) {
		if err != nil {
			return nil, err
		}
		machines = append(machines, m)
	}
	return machines, nil
}

// watch shows the list, and again after every change of a machine, until it is interrupted. At a
// terminal the list is redrawn; elsewhere each machine that changed is one more line, and the last
// one of a machine says "deleted".
func (a *app) watch(ctx context.Context, c *client.Client, filter client.MachineFilter) error {
	redraw := isTerminal(a.out) && !a.json
	shown := map[string]api.Machine{} // by ID, as it was last
	line := func(m api.Machine) error {
		if a.json {
			return json.NewEncoder(a.out).Encode(m)
		}
		fmt.Fprintf(a.out, "%s %s %s\n", m.Name, stateText(m), titleOf(m))
		return nil
	}
	key := func(m api.Machine) string {
		return fmt.Sprint(m.Name, titleOf(m), stateText(m), m.NextSeq, m.Tags, m.MemoryMB, m.Notice)
	}
	show := func() error {
		machines, err := all(ctx, c, filter)
		if err != nil {
			return err
		}
		if redraw {
			fmt.Fprint(a.out, "\x1b[H\x1b[2J")
			writeMachines(a.out, machines)
			return nil
		}
		for _, m := range slices.Backward(machines) {
			if before, known := shown[m.ID]; known && key(before) == key(m) {
				continue
			}
			shown[m.ID] = m
			if err := line(m); err != nil {
				return err
			}
		}
		for id, m := range shown {
			if slices.ContainsFunc(machines, func(there api.Machine) bool { return there.ID == id }) {
				continue
			}
			// It may be deleted, or only be no longer what is asked for.
			delete(shown, id)
			now, err := c.Machine(ctx, m.Name)
			switch {
			case errors.Is(err, client.ErrNotFound) || err == nil && now.ID != id:
				m.State = "deleted"
			case err != nil:
				return err
			case now.State == "deleted" && !filter.Deleted:
				m = now
			default:
				continue
			}
			if err := line(m); err != nil {
				return err
			}
		}
		return nil
	}
	// A position that no daemon knows is answered by "reset", once the stream is open: no change
	// can fall between the first look and the stream.
	err := c.Events(ctx, "none", func(e api.Event) error {
		switch e.Type {
		case "machine", "purged", "reset":
			return show()
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		err = nil // Ctrl-C is how one leaves
	}
	return err
}

func writeMachines(w io.Writer, machines []api.Machine) {
	if len(machines) == 0 {
		fmt.Fprintln(w, "There are no machines; `forevervm machine new` makes one.")
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// Where all are at one place, nobody asks.
	several := slices.ContainsFunc(machines, func(m api.Machine) bool { return m.Engine != machines[0].Engine })
	where := func(engine string) string {
		if several {
			return engine + "\t"
		}
		return ""
	}
	inTeam := slices.ContainsFunc(machines, func(m api.Machine) bool { return m.Owner != "" })
	whose := func(owner string) string {
		if inTeam {
			return printable(owner) + "\t"
		}
		return ""
	}
	fmt.Fprintln(table, "NAME\t"+whose("OWNER")+where("WHERE")+"STATE\tMEMORY\tDISK\tRUN\tLAST USED\tTAGS\tTITLE")
	for _, m := range machines {
		memory, disk := "-", "-"
		if m.Stats != nil {
			memory = bytesText(m.Stats.MemoryBytes)
		}
		if m.Disk != nil {
			disk = bytesText(m.Disk.UsedBytes)
		}
		fmt.Fprintf(table, "%s\t%s%s%s\t%s\t%s\t%d\t%s\t%s\t%s\n", m.Name, whose(cmp.Or(m.Owner, "-")), where(m.Engine), stateText(m), memory, disk, m.NextSeq, ago(m.LastActiveAt), describeTags(m.Tags), titleOf(m))
	}
	table.Flush()
}

// titleOf is what people call a machine, else what its first code says that it is for.
func titleOf(m api.Machine) string { return printable(cmp.Or(m.Title, m.DerivedTitle)) }

func describeTags(tags map[string]string) string {
	pairs := make([]string, 0, len(tags))
	for k, v := range tags {
		pairs = append(pairs, printable(k+"="+v))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

// printable is a text that came from elsewhere, fit for a terminal: no control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}

// machineWords are the states as the window calls them, by their names in the API.
var machineWords = map[string]string{
	"swapped": "asleep", "waking": "waking up", "idle": "ready", "running": "running", "swapping": "falling asleep", "deleted": "in the bin",
}

// stateText is a machine's state for people: one that they paused is not merely asleep.
func stateText(m api.Machine) string {
	if m.Paused && m.State == "swapped" {
		return "paused"
	}
	return cmp.Or(machineWords[m.State], m.State)
}

// stateNamed is the API's name of a state that is called by either name.
func stateNamed(word string) string {
	for name, called := range machineWords {
		if word == called {
			return name
		}
	}
	return word
}

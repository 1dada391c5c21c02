package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

func (a *app) networkCommand() *cobra.Command {
	var allow, forget []string
	cmd := &cobra.Command{
		Use: "network NAME [default|off|ask|public|list]", Short: "Show or change what a machine may reach", Args: cobra.RangeArgs(1, 2),
		Long: `Show or change what a machine may reach, also while it runs.

default  what the settings say (forevervm settings set network …; public unless changed)
off      nothing
ask      a person is asked about each new host; without an answer it is denied after a while
public   the public internet
list     the hosts that are listed

Your own computer and the networks that it is in are reached only where a host or an address is allowed without a wildcard.`,
		Example:           "  forevervm machine network brave-otter-42 list --allow pypi.org,*.pythonhosted.org\n  forevervm machine network brave-otter-42 --allow 192.168.1.5:5432",
		ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 2 || len(allow)+len(forget) > 0 {
				if err := changeNetwork(cmd.Context(), c, args, allow, forget); err != nil {
					return err
				}
			}
			now, err := c.Network(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(now, func(w io.Writer) { writeNetwork(w, now) })
		},
	}
	cmd.Flags().StringSliceVar(&allow, "allow", nil, "a host that it may reach: a name, *.name, an address or a range, perhaps with :port; may be repeated")
	cmd.Flags().StringSliceVar(&forget, "forget", nil, "a host to take off its list, or off those approved of; may be repeated")
	return cmd
}

// changeNetwork changes the policy of the machine that args name.
func changeNetwork(ctx context.Context, c *client.Client, args, allow, forget []string) error {
	now, err := c.Network(ctx, args[0])
	if err != nil {
		return err
	}
	var change api.NetworkChange
	if len(args) == 2 {
		change.Mode = &args[1]
	}
	if len(allow)+len(forget) > 0 {
		without := func(list []string) *[]string {
			left := slices.DeleteFunc(slices.Clone(list), func(host string) bool { return slices.Contains(forget, host) })
			if left == nil {
				left = []string{}
			}
			return &left
		}
		hosts := without(now.Policy.Hosts)
		for _, host := range allow {
			if !slices.Contains(*hosts, host) {
				*hosts = append(*hosts, host)
			}
		}
		change.Hosts, change.Approved = hosts, without(now.Policy.Approved)
	}
	_, err = c.UpdateMachine(ctx, args[0], api.MachineChange{Network: &change})
	return err
}

func writeNetwork(w io.Writer, n api.Network) {
	meaning := map[string]string{
		"off": "It has no network.", "ask": "You are asked about each new host.", "public": "It reaches the public internet.", "list": "It reaches the hosts on its list.",
	}[n.Effective.Mode]
	if n.Policy.Mode == "default" {
		meaning += " (As the settings say.)"
	}
	fmt.Fprintln(w, meaning)
	if len(n.Effective.Hosts) > 0 {
		fmt.Fprintln(w, "On its list: "+strings.Join(n.Effective.Hosts, ", "))
	}
	if len(n.Effective.Approved) > 0 {
		fmt.Fprintln(w, "Approved of when it asked: "+strings.Join(n.Effective.Approved, ", "))
	}
	if n.Upstream != "" {
		fmt.Fprintf(w, "This computer's proxy, %s, resolves names: the addresses behind them are not checked.\n", n.Upstream)
	}
}

func (a *app) connectionsCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "connections NAME", Short: "List what a machine reached or tried to reach, newest first", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			page, err := c.Connections(cmd.Context(), args[0], "", limit)
			if err != nil {
				return err
			}
			return a.print(page, func(w io.Writer) { writeConnections(w, page.Items) })
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most")
	return cmd
}

func writeConnections(w io.Writer, list []api.Connection) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tWHEN\tIN\tHOST\tPORT\tSTATE\tSENT\tRECEIVED\tREASON")
	for _, c := range list {
		in := "-"
		if c.Seq != nil {
			in = strconv.Itoa(*c.Seq + 1)
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%d\t%s\t%d\t%d\t%s\n",
			c.ID, c.StartedAt.Local().Format(time.DateTime), in, printable(c.Host), c.Port, c.State, c.SentBytes, c.ReceivedBytes, printable(c.Reason))
	}
	table.Flush()
}

func (a *app) answerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "answer NAME CONNECTION once|machine|always|deny", Short: "Answer a machine that asks whether it may reach a host", Args: cobra.ExactArgs(3),
		Long: `Say whether a machine that asks may reach a host. “connections” lists what waits, as “asking”.

once     while the present instruction runs
machine  always, for this machine
always   always, for all machines
deny     not at all`,
		ValidArgsFunction: a.completeMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return fmt.Errorf("%q is not a connection's number; `forevervm machine connections %s` lists them", args[1], args[0])
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := c.AnswerConnection(cmd.Context(), args[0], id, args[2]); err != nil {
				return err
			}
			return a.print(api.Answer{Answer: args[2]}, func(w io.Writer) { fmt.Fprintln(w, "Answered.") })
		},
	}
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

// inCluster is the kind of places in a Kubernetes cluster.
const inCluster = "kubernetes"

func (a *app) placesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "places", Short: "Let machines run on other computers",
		Long: "Let machines run on other computers with Linux, which you reach by ssh, or in a Kubernetes cluster. You use them here.\n" +
			"What they do on the network goes through this computer, by your rules. Over ssh, their code, variables and files are there.\n" +
			"Machines of a cluster are there while they are awake, and are saved on this computer.",
	}
	cmd.AddCommand(a.placesListCommand(), a.placesAddCommand(), a.placesRemoveCommand())
	return cmd
}

func (a *app) placesListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the places, and whether they work", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := c.Places(cmd.Context())
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(api.List[api.Place]{Items: all}, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "NAME\tSTATE")
				for _, one := range all {
					state := "works"
					for _, engine := range status.Engines {
						if engine.Name == one.Name && len(engine.Problems) > 0 {
							state = engine.Problems[0].What
						}
					}
					fmt.Fprintf(table, "%s\t%s\n", one.Name, state)
				}
				table.Flush()
			})
		},
	}
}

func (a *app) placesAddCommand() *cobra.Command {
	yes := false
	cluster := api.Cluster{}
	cmd := &cobra.Command{
		Use: "add ssh HOST | add kubernetes [NAME]", Short: "Set a place up, or update it", Args: cobra.RangeArgs(1, 2),
		Long: "Set a place up, or update the one that is there. A first machine is run.\n\n" +
			"ssh: a computer with Linux. HOST is as for ssh: its configuration, agent and known hosts are used, and nothing of them is\n" +
			"stored. ssh must get in without a password. Everything is put into one folder of your home there.\n\n" +
			"kubernetes: a namespace of a cluster. NAME is what it is called here, as its context where you name none. kubectl must\n" +
			"reach it. `forevervm kubernetes manifest` prints what the cluster's administrator applies before. Saved states come home\n" +
			"to this computer. With --keep they stay in the cluster: all machines then share one pod and one volume there.",
		RunE: func(cmd *cobra.Command, args []string) error {
			place := api.NewPlace{Kind: args[0]}
			switch {
			case len(args) == 2:
				place.Address = args[1]
			case place.Kind == inCluster && cluster.Context != "":
				place.Address = cluster.Context
			case place.Kind == inCluster:
				return errors.New("give the cluster a name: forevervm places add kubernetes NAME")
			default:
				return fmt.Errorf("say which computer: forevervm places add %s HOST", place.Kind)
			}
			if place.Kind == inCluster {
				place.Cluster = &cluster
			}
			if err := seenFromDaemon(&cluster.Kubeconfig); err != nil {
				return err
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			facts, err := c.LookAtPlace(cmd.Context(), place)
			if err != nil {
				return err
			}
			if !yes && !facts.Installed {
				if !a.atTerminal() {
					return errors.New("this puts programs onto the other computer: say --yes where nobody can be asked")
				}
				if !a.agrees("%s runs %s (%s), with %s free. ForeverVM puts %s into %s there. Go on?",
					place.Address, facts.System, facts.Processor, bytesText(facts.FreeBytes), bytesText(facts.SizeBytes), facts.Folder) {
					return errors.New("nothing was changed")
				}
			}
			stop := (&execution{app: a, client: c}).showProgress(cmd.Context())
			added, err := c.AddPlace(cmd.Context(), place)
			stop()
			if err != nil {
				return err
			}
			return a.print(added, func(w io.Writer) {
				fmt.Fprintf(w, "A first machine ran at %s. Make others there with: forevervm machine new --engine %s\n", place.Address, added.Name)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&yes, "yes", false, "do not ask")
	flags.StringVar(&cluster.Kubeconfig, "kubeconfig", "", "of a cluster: the file, where it is not kubectl's own")
	flags.StringVar(&cluster.Context, "context", "", "of a cluster: the kubeconfig's context, where it is not the current one")
	flags.StringVar(&cluster.Namespace, "namespace", defaultNamespace, "of a cluster: the namespace for machines")
	flags.StringVar(&cluster.Repository, "repository", "", "of a cluster: where the sandbox image is, such as registry.example/forevervm/sandbox")
	flags.StringVar(&cluster.PullSecret, "pull-secret", "", "of a cluster: a Secret of the namespace that the registry wants")
	flags.StringVar(&cluster.StorageClass, "storage-class", "", "of a cluster: the class of machines' volumes, where it is not the cluster's default")
	flags.BoolVar(&cluster.Keep, "keep", false, "of a cluster: keep machines and their saved states there")
	flags.IntVar(&cluster.DiskGb, "disk", 0, "of a cluster: the size of a volume in GiB, where it is not 10 for each machine, or 50 with --keep")
	flags.IntVar(&cluster.Processors, "processors", 0, "of a cluster: how many a machine may use, where it is not 2; all machines with --keep, where it is not 4")
	flags.IntVar(&cluster.MemoryGb, "memory", 0, "of a cluster, with --keep: what all machines share in GiB, where it is not 8")
	return cmd
}

// seenFromDaemon makes a kubeconfig's path one that the daemon understands: it is in another
// folder, and has other variables.
func seenFromDaemon(kubeconfig *string) error {
	files := filepath.SplitList(cmp.Or(*kubeconfig, os.Getenv("KUBECONFIG")))
	for i := range files {
		var err error
		if files[i], err = filepath.Abs(files[i]); err != nil {
			return err
		}
	}
	*kubeconfig = strings.Join(files, string(filepath.ListSeparator))
	return nil
}

func (a *app) placesRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove what ForeverVM has put at a place, and forget it", Args: cobra.ExactArgs(1),
		Long: "Remove what ForeverVM has put at a place, and forget it. A place with machines stays, also with machines in the bin:\n" +
			"move them to this computer (machine move --to), or delete them for good (machine purge), first.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.RemovePlace(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.print(struct {
				Removed string `json:"removed"`
			}{args[0]}, func(w io.Writer) { fmt.Fprintf(w, "Removed: %s\n", args[0]) })
		},
	}
}

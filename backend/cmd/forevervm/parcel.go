package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// packed is the document of pack.
type packed struct {
	Machine string `json:"machine"`
	Local   string `json:"local"` // "-" for standard output
	Bytes   int64  `json:"bytes"`
	// Keys are the steps whose code holds what looks like a key.
	Keys []api.TypedKey `json:"typed_keys,omitempty"`
}

func (a *app) packCommand() *cobra.Command {
	var checkpoint string
	cmd := &cobra.Command{
		Use: "save NAME [FILE.fvm|-]", Aliases: []string{"pack"}, Short: "Save a whole machine as one file, for another computer or another person", Args: cobra.RangeArgs(1, 2), ValidArgsFunction: a.completeMachine,
		Long: "Save a whole machine as one file: its memory, its files and its history. `forevervm machine open` makes a machine of it again, on a computer with the same version of ForeverVM.\n\n" +
			"The file holds whatever the machine held, keys and passwords included. It is signed, so that nobody can change it on its way, and not encrypted: who has it can read it.",
		Example: "  forevervm machine save brave-otter-42                # brave-otter-42.fvm\n  forevervm machine save brave-otter-42 for-anna.fvm",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			content, err := c.Pack(cmd.Context(), args[0], checkpoint)
			if err != nil {
				return err
			}
			defer content.Close()
			local := filepath.Base(args[0]) + ".fvm"
			if len(args) > 1 {
				local = args[1]
			}
			if local == "-" {
				_, err = io.Copy(a.out, content)
				return err
			}
			shown := a.newProgress()
			shown.begin(local, -1)
			n, err := writeWhole(local, 0o600, io.TeeReader(content, shown))
			shown.end()
			if err != nil {
				return fmt.Errorf("%s cannot be written: %w", local, err)
			}
			keys, err := c.TypedKeys(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !a.json {
				for _, key := range keys {
					fmt.Fprintf(a.err, "Step %d holds what looks like a key (%s), and the file does, too.\n", key.Seq+1, key.Service)
				}
				fmt.Fprintln(a.err, "The file holds whatever the machine held, keys and passwords included. Give it only to those who may have them.")
			}
			return a.print(packed{args[0], local, n, keys}, func(w io.Writer) { fmt.Fprintf(w, "%s (%s)\n", local, bytesText(n)) })
		},
	}
	cmd.Flags().StringVar(&checkpoint, "checkpoint", "", "the state to save (default: the present one)")
	return cmd
}

func (a *app) unpackCommand() *cobra.Command {
	var how client.Unpacking
	var look, trust bool
	cmd := &cobra.Command{
		Use: "open FILE.fvm", Aliases: []string{"unpack"}, Short: "Make a machine from a file that `save` wrote", Args: cobra.ExactArgs(1),
		Long: "Make a machine of a file that `forevervm machine save` has written, here or on another computer. It has no network until you allow it (`forevervm machine network`).\n\n" +
			"What is in a file may do in its machine whatever its maker wanted it to do, so one by an unknown maker is opened only when you say so. Its maker is known from then on.",
		Example: "  forevervm machine open for-anna.fvm --look   # what is in it\n  forevervm machine open for-anna.fvm --trust --maker Ben",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			seen, err := c.LookIntoParcel(cmd.Context(), io.NewSectionReader(file, 0, client.LookedAt), how)
			if err != nil {
				return err
			}
			if look {
				return a.print(seen, func(w io.Writer) { describeParcel(w, seen) })
			}
			if seen.Problem != "" {
				return errors.New(seen.Problem)
			}
			if seen.Maker.Standing == "unknown" {
				if !trust && !a.trusts(seen) {
					return fmt.Errorf("%s was made by somebody whose files you have not opened before (%s), so it was not opened; if you know who sent it to you, open it with --trust", args[0], seen.Maker.Fingerprint)
				}
				how.Trust = seen.Maker.Fingerprint
			}
			m, err := a.unpack(cmd.Context(), c, file, how)
			if err != nil {
				return err
			}
			return a.print(m, func(w io.Writer) {
				fmt.Fprintln(w, m.Name)
				fmt.Fprintf(a.err, "It has no network until you allow it: forevervm machine network %s default\n", m.Name)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&look, "look", false, "only say what is in the file")
	flags.BoolVar(&trust, "trust", false, "open it though its maker is not known here")
	flags.StringVar(&how.Maker, "maker", "", "what you call the maker whom you trust")
	flags.StringVar(&how.Name, "name", "", "name in place of its own")
	flags.StringVar(&how.Title, "title", "", "title in place of its own")
	flags.StringVar(&how.Engine, "engine", "", "where it is to run: native, docker, vm, wsl, or a place such as ssh:HOST")
	return cmd
}

// unpack sends a file, and shows how far it has come.
func (a *app) unpack(ctx context.Context, c *client.Client, file *os.File, how client.Unpacking) (api.Machine, error) {
	shown := a.newProgress()
	total := int64(-1)
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		total = info.Size()
	}
	shown.begin(file.Name(), total)
	defer shown.end()
	return c.Unpack(ctx, &watchedFile{file, shown}, how)
}

// trusts asks the person at the terminal about a maker who is not known.
func (a *app) trusts(seen api.Parcel) bool {
	if a.json || !a.atTerminal() {
		return false
	}
	describeParcel(a.out, seen)
	return a.agrees("You have not opened a file of this maker before. Do you know who sent it to you, and open it?")
}

func describeParcel(w io.Writer, p api.Parcel) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(what, text string) { fmt.Fprintf(table, "%s\t%s\n", what, printable(text)) }
	line("machine", p.Name)
	if p.Title != "" {
		line("title", p.Title)
	}
	if len(p.Tags) > 0 {
		line("tags", describeTags(p.Tags))
	}
	line("saved", p.SavedAt.Local().Format(time.DateTime)+", by ForeverVM "+p.Program)
	line("state", bytesText(p.Size)+", after "+count(p.Instructions, "step"))
	line("sandbox", fmt.Sprintf("%s, %d MB of memory", p.Image, p.MemoryMB))
	who := map[string]string{"own": "made on this computer", "accepted": "a maker whose files you have opened before"}[p.Maker.Standing]
	if who == "" {
		who = "an unknown maker"
	}
	if p.Maker.Name != "" {
		who += " (" + p.Maker.Name + ")"
	}
	line("maker", who+": "+p.Maker.Fingerprint)
	if p.Problem != "" {
		line("cannot be opened", p.Problem)
	}
	table.Flush()
}

func (a *app) makersCommand() *cobra.Command {
	var forget string
	cmd := &cobra.Command{
		Use: "makers", Short: "List the makers whose machine files you accept", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			if forget != "" {
				if err := c.ForgetMaker(cmd.Context(), strings.ToLower(forget)); err != nil {
					return err
				}
			}
			all, err := c.Makers(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(api.List[api.Maker]{Items: all}, func(w io.Writer) {
				table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "FINGERPRINT\tACCEPTED\tNAME")
				for _, m := range all {
					fmt.Fprintf(table, "%s\t%s\t%s\n", m.Fingerprint, ago(m.AcceptedAt), printable(m.Name))
				}
				table.Flush()
			})
		},
	}
	cmd.Flags().StringVar(&forget, "forget", "", "have the maker with this fingerprint be unknown again")
	return cmd
}

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/version"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of this program and of the daemon that runs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			document := struct {
				Version string `json:"version"`
				Commit  string `json:"commit,omitempty"` // absent, as is its date, where it was not built in a checkout
				Date    string `json:"date,omitempty"`
				Daemon  string `json:"daemon,omitempty"` // absent when none runs
				Go      string `json:"go"`
				System  string `json:"system"`
			}{Version: version.Version, Commit: version.Commit, Date: version.Date, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
			if c, err := connect.Running(cmd.Context(), a.connection()); err == nil && c != nil {
				defer c.Close()
				// A daemon that does not answer is doctor's to explain.
				document.Daemon, _ = c.Health(cmd.Context())
			}
			return a.print(document, func(w io.Writer) {
				about := []string{document.Commit, document.Date, document.Go, document.System}
				about = slices.DeleteFunc(about, func(part string) bool { return part == "" })
				fmt.Fprintf(w, "forevervm %s (%s)\n", document.Version, strings.Join(about, ", "))
				if document.Daemon != "" {
					fmt.Fprintf(w, "daemon %s\n", document.Daemon)
				}
			})
		},
	}
}

func (a *app) searchCommand() *cobra.Command {
	var machine string
	var limit int
	cmd := &cobra.Command{
		Use: "search WORD…", Short: "Find code and output in the history of all machines", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			page, err := c.Search(cmd.Context(), strings.Join(args, " "), machine, "", limit)
			if err != nil {
				return err
			}
			bold, plain := "", ""
			if colours(a.out) {
				bold, plain = "\x1b[1m", "\x1b[0m"
			}
			return a.print(page, func(w io.Writer) {
				for _, hit := range page.Items {
					fmt.Fprintf(w, "%s [%d] %s: %s\n", hit.Machine, hit.Seq+1, hit.Field, snippet(hit.Snippet, bold, plain))
				}
				if page.Next != "" {
					fmt.Fprintln(w, "There is more; --limit shows more of it.")
				}
			})
		},
	}
	cmd.Flags().StringVar(&machine, "machine", "", "only in this machine")
	cmd.Flags().IntVar(&limit, "limit", 0, "how many results at most")
	return cmd
}

// snippet is a piece of text on one line; what matched, which stands between U+0001 and U+0002,
// gets the given marks.
func snippet(text, before, after string) string {
	var line strings.Builder
	for _, r := range text {
		switch r {
		case 1:
			line.WriteString(before)
		case 2:
			line.WriteString(after)
		default:
			line.WriteString(printable(string(r)))
		}
	}
	return line.String()
}

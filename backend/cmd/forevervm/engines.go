package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) enginesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "engines", Short: "List where machines can run, and what is missing", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(struct {
				Engines []api.Engine `json:"engines"`
			}{status.Engines}, func(w io.Writer) { writeEngines(w, status.Engines) })
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "start NAME", Short: "Start what an engine needs, such as Docker Desktop, and check it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			engine, err := c.StartEngine(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(engine, func(w io.Writer) { writeEngines(w, []api.Engine{engine}) })
		},
	})
	return cmd
}

func writeEngines(w io.Writer, engines []api.Engine) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tWHAT TO KNOW")
	for _, engine := range engines {
		state, known := "works", ""
		if engine.Default {
			known = "new machines run here where none is named"
		}
		for _, note := range engine.Notes {
			known = strings.TrimSpace(known + ". " + note)
		}
		if busy := engine.Busy; busy != nil {
			state, known = "gets ready", progressText(*busy)
		}
		for i, p := range engine.Problems {
			if state = "does not work"; i > 0 {
				known += " "
			} else {
				known = ""
			}
			known += p.What + " " + p.Do
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", engine.Name, state, known)
	}
	table.Flush()
}

// progressText says how far something has come, in one line.
func progressText(p api.Progress) string {
	const width = 20
	if p.TotalBytes <= 0 {
		return p.What + "…"
	}
	part := min(1, float64(p.DoneBytes)/float64(p.TotalBytes))
	full := int(part * width)
	return fmt.Sprintf("%s [%s%s] %.0f %% of %s", p.What, strings.Repeat("#", full), strings.Repeat(".", width-full), part*100, bytesText(p.TotalBytes))
}

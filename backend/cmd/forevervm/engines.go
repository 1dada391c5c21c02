package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) enginesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "engines", Short: "List where machines can run here, and why not", Args: cobra.NoArgs,
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
}

func writeEngines(w io.Writer, engines []api.Engine) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tWHAT TO KNOW")
	for _, engine := range engines {
		state, known := "works", ""
		if engine.Default {
			known = "new machines run here where none is named"
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

package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
)

// exported is the document of an export.
type exported struct {
	Machine string `json:"machine"`
	Format  string `json:"format"`
	Local   string `json:"local"` // "-" for standard output
	Bytes   int64  `json:"bytes"`
}

func (a *app) exportCommand() *cobra.Command {
	var format, local string
	cmd := &cobra.Command{
		Use: "export NAME", Short: "Save the history of a machine as a report, notebook, page or script", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMachine,
		Example: "  forevervm export brave-otter-42                    # brave-otter-42.ipynb, for Jupyter\n" +
			"  forevervm export brave-otter-42 --format report    # brave-otter-42.report.html, to send to others\n" +
			"  forevervm export brave-otter-42 --format pdf       # the same as a PDF, by the browser that is installed\n" +
			"  forevervm export brave-otter-42 --format py -o -   # the code alone, to standard output",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			content, err := c.Export(cmd.Context(), args[0], format)
			if err != nil {
				return err
			}
			defer content.Close()
			if local == "-" {
				_, err = io.Copy(a.out, content)
				return err
			}
			if local == "" {
				local = filepath.Base(args[0]) + "." + cmp.Or(map[string]string{"report": "report.html"}[format], format)
			}
			n, err := writeWhole(local, 0o666, content)
			if err != nil {
				return fmt.Errorf("%s cannot be written: %w", local, err)
			}
			return a.print(exported{args[0], format, local, n}, func(w io.Writer) { fmt.Fprintf(w, "%s (%s)\n", local, bytesText(n)) })
		},
	}
	cmd.Flags().StringVar(&format, "format", "ipynb", "ipynb (Jupyter), report (results as a page), pdf (the report on paper), html (everything as a page), md (Markdown) or py (the code)")
	cmd.Flags().StringVarP(&local, "output", "o", "", "the file; - writes to standard output (default NAME.FORMAT)")
	return cmd
}

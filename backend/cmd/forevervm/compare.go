package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
)

func (a *app) compareCommand() *cobra.Command {
	return &cobra.Command{
		Use: "compare NAME A [B]", Short: "Show how two states of a machine differ", Args: cobra.RangeArgs(2, 3), ValidArgsFunction: a.completeMachine,
		Long: `Show in what two states of a machine differ: variables, files in its working folder, and the instructions that only one of them has.

A and B are checkpoints, or branches by their names; without B it is the present state. Each state is brought into memory for a moment, in a copy
without a network; the machine itself stays as it is.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			found, err := c.Compare(cmd.Context(), args[0], args[1], strings.Join(args[2:], ""))
			if err != nil {
				return err
			}
			return a.print(found, func(w io.Writer) { writeComparison(w, found) })
		},
	}
}

func writeComparison(w io.Writer, c api.Comparison) {
	if len(c.Variables)+len(c.Files)+len(c.OnlyFrom)+len(c.OnlyTo) == 0 {
		fmt.Fprintln(w, "Nothing differs.")
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(c.Variables) > 0 {
		fmt.Fprintln(table, "VARIABLE\t\tBEFORE\tAFTER")
		for _, v := range c.Variables {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", printable(v.Name), v.Change, variableText(v.Before), variableText(v.After))
			for _, c := range v.Columns {
				fmt.Fprintf(table, "  column %s\tchanged\t%s\t%s\n", printable(c.Name), meanText(c.Before), meanText(c.After))
			}
		}
	}
	table.Flush()
	if len(c.Files) > 0 {
		fmt.Fprintln(table, "FILE\t\tBEFORE\tAFTER")
		for _, f := range c.Files {
			what := f.Change
			if f.Unsure {
				what = "written"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", printable(f.Path), what, fileText(f.Before), fileText(f.After))
		}
	}
	table.Flush()
	writeSteps(w, "Only the first has the effect of", c.OnlyFrom)
	writeSteps(w, "Only the second has the effect of", c.OnlyTo)
	if len(c.Unsure) > 0 {
		fmt.Fprintf(w, "These look the same, and could not be compared to the end: %s.\n", printable(strings.Join(c.Unsure, ", ")))
	}
	if c.Partial {
		fmt.Fprintln(w, "There are more variables, files or folders than were looked at.")
	}
}

func writeSteps(w io.Writer, what string, steps []api.ComparedStep) {
	if len(steps) == 0 {
		return
	}
	fmt.Fprintln(w, what)
	for _, step := range steps {
		fmt.Fprintf(w, "  [%d] %s\n", step.Seq+1, printable(step.Title))
	}
}

func variableText(v *api.Variable) string {
	if v == nil {
		return "-"
	}
	text := v.Type
	if v.Shape != "" {
		text += " " + v.Shape
	}
	if v.Preview != "" {
		preview := []rune(v.Preview)
		if len(preview) > 40 {
			preview = append(preview[:39], '…')
		}
		text += " " + string(preview)
	}
	return printable(text)
}

func meanText(mean *float64) string {
	if mean == nil {
		return "-"
	}
	return fmt.Sprintf("mean %.6g", *mean)
}

func fileText(f *api.File) string {
	switch {
	case f == nil:
		return "-"
	case f.Kind != "file":
		return f.Kind
	}
	return bytesText(f.Size)
}

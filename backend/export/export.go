// Package export writes what happened in a machine as a document: a notebook, a script, a page or a
// text. A PDF is a page that package pdf prints.
//
// What a machine put out is hostile. Documents are made so that reading one runs nothing of it and
// reaches nobody. A page loads nothing from anywhere, and runs no script but ours, which draw
// figures from their data; HTML of a machine's stands in frames that run none. A script has only as
// comments what did not work, and what was not Python.
package export

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Format is a kind of document.
type Format string

const (
	Notebook Format = "ipynb"  // for Jupyter, with outputs
	Script   Format = "py"     // the code alone, in cells
	Report   Format = "report" // results alone, as one page for others
	PDF      Format = "pdf"    // a report to be printed: Write writes the page that package pdf prints
	Page     Format = "html"   // everything, as one page
	Text     Format = "md"     // Markdown
)

// Formats are all of them, the first is what people most likely want.
var Formats = []Format{Notebook, Script, Report, PDF, Page, Text}

// MediaType is what documents of the format are over HTTP.
func (f Format) MediaType() string {
	return map[Format]string{
		Notebook: "application/x-ipynb+json", Script: "text/x-python; charset=utf-8", Report: "text/html; charset=utf-8", PDF: "application/pdf", Page: "text/html; charset=utf-8", Text: "text/markdown; charset=utf-8",
	}[f]
}

// Extension is how the names of such documents end, with the dot.
func (f Format) Extension() string {
	if f == Report {
		return ".report.html"
	}
	return "." + string(f)
}

// Known says whether there is such a format.
func (f Format) Known() bool { return slices.Contains(Formats, f) }

// Machine is one that knows what happened in it; each machine.Handle is one.
type Machine interface {
	Machine() machine.Machine
	Instructions(ctx context.Context, q machine.InstructionQuery) (machine.Page[machine.Instruction], error)
	Items(ctx context.Context, seq, from, limit int) ([]machine.Item, error)
}

// document writes one format. Errors of the writer beneath are found when all is flushed.
type document interface {
	begin(m machine.Machine, at time.Time)
	step(s step)
	end()
}

// Write writes what happened in a machine up to now, oldest step first. It holds one step in memory
// at a time. plotly is the code of Plotly, which pages with figures take along; without it they say
// that there is a figure.
func Write(ctx context.Context, w io.Writer, f Format, m Machine, at time.Time, plotly []byte) error {
	out := bufio.NewWriter(w)
	var doc document
	switch f {
	case Notebook:
		doc = &notebook{out: out}
	case Script:
		doc = &script{out: out}
	case Page, Report, PDF:
		doc = &page{out: out, report: f != Page, paper: f == PDF, plotly: string(plotly)}
	case Text:
		doc = &markdown{out: out}
	default:
		return fmt.Errorf("there is no format %q", f)
	}
	doc.begin(m.Machine(), at.UTC())
	q := machine.InstructionQuery{}
	for last := -1; ; {
		found, err := m.Instructions(ctx, q)
		if err != nil {
			return err
		}
		for _, in := range found.Items {
			s := step{Instruction: in}
			if f != Script {
				if s.blocks, err = outputs(ctx, m, in); err != nil {
					return err
				}
			}
			doc.step(s)
			last = in.Seq
		}
		if found.Next == "" || len(found.Items) == 0 {
			break
		}
		q.After = &last
	}
	doc.end()
	return out.Flush()
}

// title is what people call the machine.
func title(m machine.Machine) string {
	return cmp.Or(m.Title, m.DerivedTitle, m.Name)
}

package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
)

// comparison is what a model is told of the differences between two states.
type comparison struct {
	Variables    []change `json:"variables" jsonschema_description:"Variables that differ"`
	LookTheSame  []string `json:"lookTheSame,omitempty" jsonschema_description:"Variables that look the same and were not compared completely"`
	Files        []change `json:"files" jsonschema_description:"Files of the working folder that differ"`
	OnlyInFirst  []int    `json:"onlyInFirst" jsonschema_description:"Instructions that only the first state has"`
	OnlyInSecond []int    `json:"onlyInSecond" jsonschema_description:"Instructions that only the second state has"`
	More         bool     `json:"more" jsonschema_description:"Not everything is here"`
}

// change is one difference: of a variable its type, shape and beginning, of a file its size.
type change struct {
	Name   string `json:"name"`
	Change string `json:"change" jsonschema_description:"added, removed or changed"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Columns are those of a table whose values differ.
	Columns []string `json:"columns,omitempty" jsonschema_description:"Columns whose values differ, with their means"`
}

// text is the comparison as models read it.
func (c comparison) text() string {
	var lines []string
	differ := func(what string, all []change) {
		for _, one := range all {
			line := fmt.Sprintf("%s %s: %s", what, one.Name, one.Change)
			switch {
			case one.Before != "" && one.After != "":
				line += fmt.Sprintf(", from %s to %s", one.Before, one.After)
			case one.Before+one.After != "":
				line += ", " + one.Before + one.After
			}
			if len(one.Columns) > 0 {
				line += "; columns that differ: " + strings.Join(one.Columns, ", ")
			}
			lines = append(lines, onOneLine(line))
		}
	}
	differ("variable", c.Variables)
	differ("file", c.Files)
	if len(c.LookTheSame) > 0 {
		lines = append(lines, onOneLine("look the same, not compared completely: "+strings.Join(c.LookTheSame, ", ")))
	}
	only := func(which string, seqs []int) {
		if len(seqs) > 0 {
			lines = append(lines, fmt.Sprintf("steps only in the %s: %s", which, strings.Trim(fmt.Sprint(seqs), "[]")))
		}
	}
	only("first", c.OnlyInFirst)
	only("second", c.OnlyInSecond)
	if len(lines) == 0 {
		lines = append(lines, "[No difference.]")
	}
	if c.More {
		lines = append(lines, "[There is more than was looked at, or than fits here.]")
	}
	return strings.Join(lines, "\n")
}

func (s *Server) compare(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	found, err := s.of(ctx).Compare(ctx, name, call.GetString("checkpointId", ""), call.GetString("withCheckpointId", ""))
	if err != nil {
		return failure(err, name), nil
	}
	out := comparison{Variables: []change{}, Files: []change{}, LookTheSame: found.Unsure, OnlyInFirst: seqs(found.OnlyFrom), OnlyInSecond: seqs(found.OnlyTo), More: found.Partial}
	for _, v := range found.Variables {
		out.Variables = append(out.Variables, change{v.Name, v.Change, variableLine(v.Before), variableLine(v.After), columnLines(v.Columns)})
	}
	for _, f := range found.Files {
		out.Files = append(out.Files, change{Name: f.Path, Change: f.Change, Before: fileLine(f.Before), After: fileLine(f.After)})
	}
	whole := len(out.Variables) + len(out.Files) + len(out.LookTheSame)
	all := fitting(s, append(append(out.Variables, out.Files...), named(out.LookTheSame)...))
	if len(all) < whole {
		out.More = true
		out.Variables = all[:min(len(all), len(out.Variables))]
		out.Files = all[len(out.Variables):min(len(all), len(out.Variables)+len(out.Files))]
		out.LookTheSame = nil
	}
	return mcp.NewToolResultStructured(out, out.text()), nil
}

// named are names as changes, to tell how much room they take.
func named(names []string) (all []change) {
	for _, name := range names {
		all = append(all, change{Name: name})
	}
	return all
}

func columnLines(columns []api.ColumnChange) (lines []string) {
	for _, c := range columns {
		line := c.Name
		if c.Before != nil && c.After != nil {
			line += fmt.Sprintf(" (mean %.6g to %.6g)", *c.Before, *c.After)
		}
		lines = append(lines, line)
	}
	return lines
}

func seqs(steps []api.ComparedStep) []int {
	all := []int{}
	for _, step := range steps {
		all = append(all, step.Seq+1)
	}
	return all
}

func variableLine(v *api.Variable) string {
	if v == nil {
		return ""
	}
	line := v.Type
	if v.Shape != "" {
		line += " " + v.Shape
	}
	if v.Preview != "" {
		line += ": " + v.Preview
	}
	return line
}

func fileLine(f *api.File) string {
	switch {
	case f == nil:
		return ""
	case f.Kind != "file":
		return f.Kind
	}
	return fmt.Sprintf("%d bytes", f.Size)
}

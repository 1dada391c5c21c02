package link

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	maxMatches   = 2000
	maxVariables = 2000
	maxName      = 4 << 10
	maxText      = 1 << 20
	maxCell      = 1 << 10
	maxAbout     = 32 // entries of what is told of a column
	maxProblem   = 1 << 10
)

// Complete tells what could stand at the cursor.
func (s *Sandbox) Complete(ctx context.Context, code string, cursor int) (machine.Completions, error) {
	var answer struct {
		Matches []struct {
			Text  string `json:"text"`
			Start int    `json:"start"`
			End   int    `json:"end"`
		} `json:"matches"`
	}
	if err := s.question(ctx, protocol.Request{Type: protocol.TypeComplete, Cursor: cursor}, code, &answer); err != nil {
		return machine.Completions{}, err
	}
	c := machine.Completions{Matches: []string{}, Start: cursor, End: cursor}
	if len(answer.Matches) == 0 {
		return c, nil
	}
	// The domain knows one range for all matches: the first one's. The few with another range are
	// left out.
	c.Start, c.End = answer.Matches[0].Start, answer.Matches[0].End
	if c.Start < 0 || c.End < c.Start || c.End > utf8.RuneCountInString(code) {
		return machine.Completions{}, nonsense(nil)
	}
	for _, m := range answer.Matches[:min(len(answer.Matches), maxMatches)] {
		if m.Start == c.Start && m.End == c.End {
			c.Matches = append(c.Matches, clip(m.Text, maxName))
		}
	}
	return c, nil
}

// Inspect tells what is known of the name at the cursor, as plain text.
func (s *Sandbox) Inspect(ctx context.Context, code string, cursor, detail int) (machine.Inspection, error) {
	var a struct {
		Found      bool   `json:"found"`
		Name       string `json:"name"`
		Type       string `json:"type_name"`
		Definition string `json:"definition"`
		Init       string `json:"init_definition"`
		Value      string `json:"string_form"`
		Doc        string `json:"docstring"`
		InitDoc    string `json:"init_docstring"`
		Source     string `json:"source"`
		File       string `json:"file"`
	}
	if err := s.question(ctx, protocol.Request{Type: protocol.TypeInspect, Cursor: cursor, Detail: detail}, code, &a); err != nil {
		return machine.Inspection{}, err
	}
	if !a.Found {
		return machine.Inspection{}, nil
	}
	var b strings.Builder
	for _, part := range []struct{ label, text string }{
		{"Signature: ", a.Definition}, {"Init signature: ", a.Init}, {"Type: ", a.Type}, {"Value: ", a.Value},
		{"\n", a.Doc}, {"\n", a.InitDoc}, {"\nSource:\n", a.Source}, {"File: ", a.File},
	} {
		if part.text != "" {
			b.WriteString(part.label + strings.TrimRight(part.text, "\n") + "\n")
		}
	}
	return machine.Inspection{Found: true, Text: clip(b.String(), maxText)}, nil
}

// Variables lists the user's names.
func (s *Sandbox) Variables(ctx context.Context, limit int) ([]machine.Variable, error) {
	var answer struct {
		Variables []variable `json:"variables"`
	}
	limit = min(limit, maxVariables)
	if err := s.question(ctx, protocol.Request{Type: protocol.TypeVariables, Limit: limit}, "", &answer); err != nil {
		return nil, err
	}
	list := make([]machine.Variable, 0, min(len(answer.Variables), limit))
	for _, v := range answer.Variables[:min(len(answer.Variables), limit)] {
		list = append(list, v.domain())
	}
	return list, nil
}

// variable is what the runner says of one name. What it does not know is null.
type variable struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Kind    string  `json:"kind"`
	Shape   []int64 `json:"shape"`
	Length  *int64  `json:"length"`
	Bytes   *int64  `json:"bytes"`
	Preview *string `json:"preview"`
}

func (v variable) domain() machine.Variable {
	out := machine.Variable{Name: clip(v.Name, maxName), Type: clip(v.Type, maxName), Kind: clip(v.Kind, 32), Size: -1}
	switch {
	case len(v.Shape) > 0 && len(v.Shape) <= 64:
		parts := make([]string, len(v.Shape))
		for i, n := range v.Shape {
			parts[i] = strconv.FormatInt(n, 10)
		}
		out.Shape = "(" + strings.Join(parts, ", ") + ")"
		if len(parts) == 1 {
			out.Shape = "(" + parts[0] + ",)"
		}
	case v.Length != nil:
		out.Shape = strconv.FormatInt(*v.Length, 10)
	}
	if v.Bytes != nil && *v.Bytes >= 0 {
		out.Size = *v.Bytes
	}
	if v.Preview != nil {
		out.Preview = clip(*v.Preview, maxName)
	}
	return out
}

// Table reads a page of a table.
func (s *Sandbox) Table(ctx context.Context, q machine.TableQuery) (machine.Table, error) {
	query, err := json.Marshal(asked(q))
	if err != nil {
		return machine.Table{}, err
	}
	var answer tablePage
	if err := s.question(ctx, protocol.Request{Type: protocol.TypeTable}, string(query), &answer); err != nil {
		return machine.Table{}, err
	}
	return answer.domain(q)
}

// SaveTable has all rows of a table that a query leaves written to a file of the machine.
func (s *Sandbox) SaveTable(ctx context.Context, q machine.TableQuery, format machine.TableFormat) (path string, err error) {
	wanted := asked(q)
	wanted.Format = string(format)
	query, err := json.Marshal(wanted)
	if err != nil {
		return "", err
	}
	var answer struct {
		Problem string `json:"problem"`
		Path    string `json:"path"`
	}
	if err := s.question(ctx, protocol.Request{Type: protocol.TypeSaveTable}, string(query), &answer); err != nil {
		return "", err
	}
	if answer.Problem != "" {
		return "", &machine.Error{Kind: machine.ErrInvalid, Message: clip(answer.Problem, maxProblem)}
	}
	if len(answer.Path) == 0 || len(answer.Path) > maxProblem {
		return "", nonsense(nil)
	}
	return answer.Path, nil
}

// tableQuery is a query as the runner reads it.
type tableQuery struct {
	Name        string        `json:"name"`
	Offset      int           `json:"offset"`
	Limit       int           `json:"limit"`
	FirstColumn int           `json:"first_column"`
	Columns     int           `json:"columns"`
	Sort        *tableSort    `json:"sort"`
	Filters     []tableFilter `json:"filters"`
	About       bool          `json:"about"`
	Format      string        `json:"format,omitempty"` // of the file to save
}

type tableSort struct {
	Column     int  `json:"column"`
	Descending bool `json:"descending"`
}

type tableFilter struct {
	Column int    `json:"column"`
	Test   string `json:"test"`
	Value  string `json:"value"`
}

func asked(q machine.TableQuery) tableQuery {
	out := tableQuery{Name: q.Name, Offset: q.Offset, Limit: q.Limit, FirstColumn: q.FirstColumn, Columns: q.Columns, About: q.About}
	if q.Sort != nil {
		out.Sort = &tableSort{q.Sort.Column, q.Sort.Descending}
	}
	for _, f := range q.Filters {
		out.Filters = append(out.Filters, tableFilter(f))
	}
	return out
}

// tablePage is what the runner answers: a page, or a sentence that says why there is none.
type tablePage struct {
	Problem     string `json:"problem"`
	Rows        int64  `json:"rows"`
	Matching    int64  `json:"matching"`
	Width       int64  `json:"width"`
	Offset      int    `json:"offset"`
	FirstColumn int    `json:"first_column"`
	Columns     []struct {
		Name   string       `json:"name"`
		Type   string       `json:"type"`
		Number bool         `json:"number"`
		About  *columnAbout `json:"about"`
	} `json:"columns"`
	Index []string    `json:"index"`
	Cells [][]*string `json:"cells"`
}

// columnAbout is what a column holds.
type columnAbout struct {
	Missing  int64   `json:"missing"`
	Sampled  bool    `json:"sampled"`
	Low      *string `json:"low"`
	High     *string `json:"high"`
	Counts   []int64 `json:"counts"`
	Distinct *int64  `json:"distinct"`
	Top      []struct {
		Value string `json:"value"`
		Count int64  `json:"count"`
	} `json:"top"`
}

func (c *columnAbout) domain() *machine.ColumnAbout {
	if c == nil || len(c.Counts) > maxAbout || len(c.Top) > maxAbout {
		return nil
	}
	out := &machine.ColumnAbout{Missing: max(0, c.Missing), Sampled: c.Sampled, Distinct: c.Distinct}
	if c.Low != nil && c.High != nil {
		out.Low, out.High = clip(*c.Low, maxCell), clip(*c.High, maxCell)
	}
	for _, count := range c.Counts {
		out.Counts = append(out.Counts, max(0, count))
	}
	for _, one := range c.Top {
		out.Top = append(out.Top, machine.ValueCount{Value: clip(one.Value, maxCell), Count: max(0, one.Count)})
	}
	return out
}

// domain checks the page against what was asked for: no more of it than that, and every row as long
// as there are columns.
func (p *tablePage) domain(q machine.TableQuery) (machine.Table, error) {
	if p.Problem != "" {
		return machine.Table{}, &machine.Error{Kind: machine.ErrInvalid, Message: clip(p.Problem, maxProblem)}
	}
	rows, columns := len(p.Cells), len(p.Columns)
	if rows > q.Limit || columns > q.Columns || len(p.Index) != rows || p.Offset < 0 || p.FirstColumn < 0 ||
		p.Matching < int64(rows) || p.Rows < p.Matching || p.Width < int64(columns) {
		return machine.Table{}, nonsense(nil)
	}
	t := machine.Table{
		Rows: p.Rows, Matching: p.Matching, Width: p.Width, Offset: p.Offset, FirstColumn: p.FirstColumn,
		Columns: make([]machine.TableColumn, columns), Index: make([]string, rows), Cells: p.Cells,
	}
	for i, c := range p.Columns {
		t.Columns[i] = machine.TableColumn{Name: clip(c.Name, maxCell), Type: clip(c.Type, maxCell), Number: c.Number, About: c.About.domain()}
	}
	for i, row := range p.Cells {
		if len(row) != columns {
			return machine.Table{}, nonsense(nil)
		}
		t.Index[i] = clip(p.Index[i], maxCell)
		for _, cell := range row {
			if cell != nil {
				*cell = clip(*cell, maxCell)
			}
		}
	}
	return t, nil
}

// question asks the runner and reads its answer.
func (s *Sandbox) question(ctx context.Context, q protocol.Request, code string, answer any) error {
	reply, _, err := s.ask(ctx, q, []byte(code))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(reply.Result, answer); err != nil {
		return nonsense(err)
	}
	return nil
}

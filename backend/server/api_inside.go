package server

import (
	"net/http"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
)

func (s *Server) complete(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.CodeAt
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	found, err := m.Complete(r.Context(), body.Code, body.Cursor)
	if err != nil {
		return err
	}
	answer := api.Completions{Matches: found.Matches, Start: found.Start, End: found.End}
	if answer.Matches == nil {
		answer.Matches = []string{}
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (s *Server) inspect(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.CodeAt
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	found, err := m.Inspect(r.Context(), body.Code, body.Cursor, body.Detail)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.Inspection{Found: found.Found, Text: found.Text})
}

func (s *Server) listVariables(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	found, err := m.Variables(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found, "", variableJSON))
}

func variableJSON(v machine.Variable) api.Variable {
	return api.Variable{Name: v.Name, Type: v.Type, Kind: v.Kind, Shape: v.Shape, Size: v.Size, Preview: v.Preview}
}

func (s *Server) readTable(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.TableQuery
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	found, err := m.Table(r.Context(), tableQuery(body))
	if err != nil {
		return err
	}
	answer := api.Table{
		Rows: found.Rows, Matching: found.Matching, Width: found.Width, Offset: found.Offset, FirstColumn: found.FirstColumn,
		Columns: []api.TableColumn{}, Items: []api.TableRow{},
	}
	for _, c := range found.Columns {
		answer.Columns = append(answer.Columns, api.TableColumn{Name: c.Name, Type: c.Type, Number: c.Number, About: columnAboutJSON(c.About)})
	}
	for i, cells := range found.Cells {
		answer.Items = append(answer.Items, api.TableRow{Index: found.Index[i], Cells: cells})
	}
	return writeJSON(w, http.StatusOK, answer)
}

// saveTable has a table written to a file of the machine.
func (s *Server) saveTable(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.SaveTable
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	query := api.TableQuery{Variable: body.Variable, Sort: body.Sort, Filters: body.Filters}
	path, err := m.SaveTable(r.Context(), tableQuery(query), machine.TableFormat(body.Format))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.SavedTable{Path: path})
}

func tableQuery(body api.TableQuery) machine.TableQuery {
	wanted := machine.TableQuery{Name: body.Variable, Offset: body.Offset, Limit: body.Limit, FirstColumn: body.FirstColumn, Columns: body.Columns, About: body.About}
	if body.Sort != nil {
		wanted.Sort = &machine.TableSort{Column: body.Sort.Column, Descending: body.Sort.Descending}
	}
	for _, f := range body.Filters {
		wanted.Filters = append(wanted.Filters, machine.TableFilter{Column: f.Column, Test: f.Test, Value: f.Value})
	}
	return wanted
}

func columnAboutJSON(a *machine.ColumnAbout) *api.ColumnAbout {
	if a == nil {
		return nil
	}
	out := &api.ColumnAbout{Missing: a.Missing, Low: a.Low, High: a.High, Counts: a.Counts, Distinct: a.Distinct, Sampled: a.Sampled}
	for _, one := range a.Top {
		out.Top = append(out.Top, api.ValueCount{Value: one.Value, Count: one.Count})
	}
	return out
}

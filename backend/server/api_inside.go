package server

import (
	"errors"
	"io"
	"net/http"
	"path"
	"strconv"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
)

func (s *Server) complete(w http.ResponseWriter, r *http.Request) error {
	var body api.CodeAt
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	found, err := s.config.Machines.Complete(r.Context(), r.PathValue("name"), body.Code, body.Cursor)
	if err != nil {
		return err
	}
	answer := api.Completions{Matches: found.Matches, Start: found.Start, End: found.End}
	if answer.Matches == nil {
		answer.Matches = []string{}
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (s *Server) inspect(w http.ResponseWriter, r *http.Request) error {
	var body api.CodeAt
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	found, err := s.config.Machines.Inspect(r.Context(), r.PathValue("name"), body.Code, body.Cursor, body.Detail)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.Inspection{Found: found.Found, Text: found.Text})
}

func (s *Server) listVariables(w http.ResponseWriter, r *http.Request) error {
	found, err := s.config.Machines.Variables(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found, "", func(v machine.Variable) api.Variable {
		return api.Variable{Name: v.Name, Type: v.Type, Kind: v.Kind, Shape: v.Shape, Size: v.Size, Preview: v.Preview}
	}))
}

func (s *Server) readTable(w http.ResponseWriter, r *http.Request) error {
	var body api.TableQuery
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	wanted := machine.TableQuery{Name: body.Variable, Offset: body.Offset, Limit: body.Limit, FirstColumn: body.FirstColumn, Columns: body.Columns}
	if body.Sort != nil {
		wanted.Sort = &machine.TableSort{Column: body.Sort.Column, Descending: body.Sort.Descending}
	}
	for _, f := range body.Filters {
		wanted.Filters = append(wanted.Filters, machine.TableFilter{Column: f.Column, Test: f.Test, Value: f.Value})
	}
	found, err := s.config.Machines.Table(r.Context(), r.PathValue("name"), wanted)
	if err != nil {
		return err
	}
	answer := api.Table{
		Rows: found.Rows, Matching: found.Matching, Width: found.Width, Offset: found.Offset, FirstColumn: found.FirstColumn,
		Columns: []api.TableColumn{}, Items: []api.TableRow{},
	}
	for _, c := range found.Columns {
		answer.Columns = append(answer.Columns, api.TableColumn{Name: c.Name, Type: c.Type, Number: c.Number})
	}
	for i, cells := range found.Cells {
		answer.Items = append(answer.Items, api.TableRow{Index: found.Index[i], Cells: cells})
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (s *Server) listFiles(w http.ResponseWriter, r *http.Request) error {
	folder := r.URL.Query().Get("path")
	if folder == "" {
		folder = "."
	}
	found, err := s.config.Machines.ListFiles(r.Context(), r.PathValue("name"), folder)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found, "", func(f machine.FileEntry) api.File {
		return api.File{Name: f.Name, Dir: f.Dir, Size: f.Size, Modified: f.Modified.UTC()}
	}))
}

const (
	filePiece = 1 << 20 // bytes of a file that go through a machine at once
	maxFile   = 4 << 30 // bytes of a file that is sent into a machine
)

func filePath(r *http.Request) (string, error) {
	name := r.URL.Query().Get("path")
	if name == "" {
		return "", invalid("Say which file: the parameter path is empty.")
	}
	return name, nil
}

// readFile sends a file piece by piece.
func (s *Server) readFile(w http.ResponseWriter, r *http.Request) error {
	name, err := filePath(r)
	if err != nil {
		return err
	}
	read := func(offset int64) (machine.FileChunk, error) {
		return s.config.Machines.ReadFile(r.Context(), r.PathValue("name"), name, offset, filePiece)
	}
	piece, err := read(0)
	if err != nil {
		return err
	}
	attachment(w, path.Base(name), "application/octet-stream")
	if size := int64(len(piece.Data)); piece.EOF {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	} else if piece.Size > size {
		// A file that shrinks meanwhile breaks the answer off, so that nobody takes a part for the whole.
		w.Header().Set("Content-Length", strconv.FormatInt(piece.Size, 10))
	}
	for offset := int64(0); ; {
		if _, err := w.Write(piece.Data); err != nil {
			if errors.Is(err, http.ErrContentLength) {
				return nil // it has grown; the client has what it was when it began
			}
			return err
		}
		offset += int64(len(piece.Data))
		if piece.EOF || len(piece.Data) == 0 {
			return nil
		}
		if piece, err = read(offset); err != nil {
			return err
		}
	}
}

// writeFile writes a body into a file piece by piece.
func (s *Server) writeFile(w http.ResponseWriter, r *http.Request) error {
	name, err := filePath(r)
	if err != nil {
		return err
	}
	body := http.MaxBytesReader(w, r.Body, maxFile)
	piece := make([]byte, filePiece)
	for offset, first := int64(0), true; ; first = false {
		n, readErr := io.ReadFull(body, piece)
		ended := errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF)
		if readErr != nil && !ended {
			return jsonProblem(readErr)
		}
		if n > 0 || first {
			if err := s.config.Machines.WriteFile(r.Context(), r.PathValue("name"), name, offset, first, piece[:n]); err != nil {
				return err
			}
		}
		offset += int64(n)
		if ended {
			return noContent(w)
		}
	}
}

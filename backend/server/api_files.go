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

// maxFile is how many bytes a file that is sent into a machine may have.
const maxFile = 4 << 30

func filePath(r *http.Request) string { return r.URL.Query().Get("path") }

func fileJSON(f machine.FileEntry) api.File {
	out := api.File{Name: f.Name, Kind: string(f.Kind), Dir: f.Kind == machine.FileFolder, Size: f.Size}
	if !f.Modified.IsZero() {
		out.Modified = utc(&f.Modified)
	}
	return out
}

func (s *Server) listFiles(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	folder := filePath(r)
	if folder == "" {
		folder = "."
	}
	found, err := m.ListFiles(r.Context(), folder)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.FileList{Items: list(found.Entries, "", fileJSON).Items, Path: found.Path, More: found.More})
}

func (s *Server) statFile(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	found, err := m.StatFile(r.Context(), filePath(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, fileJSON(found))
}

func (s *Server) removeFile(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	if err := m.RemoveFile(r.Context(), filePath(r)); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) makeFolder(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	if err := m.MakeFolder(r.Context(), filePath(r)); err != nil {
		return err
	}
	return noContent(w)
}

// readFile sends a file. One that changes meanwhile breaks the answer off, so that nobody takes a
// mixture for the whole.
func (s *Server) readFile(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	name := filePath(r)
	content, err := m.OpenFile(r.Context(), name)
	if err != nil {
		return err
	}
	attachment(w, path.Base(name), "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(content.Size, 10))
	_, err = io.Copy(w, content)
	return err
}

// writeFile writes a body into a file.
func (s *Server) writeFile(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	body := &body{from: http.MaxBytesReader(w, r.Body, maxFile)}
	if _, err := m.PutFile(r.Context(), filePath(r), body); err != nil || body.err != nil {
		return body.blame(err)
	}
	return noContent(w)
}

// body keeps the error of a request's body, as it is the sender's and not the machine's.
type body struct {
	from io.Reader
	err  error
}

// blame is why a file could not be written: err, unless the sender is to blame.
func (b *body) blame(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case b.err == nil:
		return err
	case errors.As(b.err, &tooLarge):
		return b.err
	}
	return invalid("The file did not arrive whole, so nothing was written: %v.", b.err)
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

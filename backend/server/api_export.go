package server

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/export"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/pdf"
)

// export answers with what happened in a machine, as a document.
func (s *Server) export(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	format := export.Format(r.URL.Query().Get("format"))
	if format == "" {
		format = export.Formats[0]
	}
	if !format.Known() {
		return invalid("The parameter format must be one of %s.", strings.Join(formatNames(), ", "))
	}
	plotly, err := s.plotly()
	if err != nil {
		return err
	}
	s.note(r, audit.Export, m.Name(), string(format))
	if format == export.PDF {
		return s.printed(w, r, m, plotly)
	}
	attachment(w, m.Name()+format.Extension(), format.MediaType())
	return export.Write(r.Context(), w, format, m, time.Now(), plotly)
}

// printed answers with a report as a PDF.
func (s *Server) printed(w http.ResponseWriter, r *http.Request, m machine.Handle, plotly []byte) error {
	folder, err := os.MkdirTemp("", "forevervm-report-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	page, err := os.Create(filepath.Join(folder, "report.html"))
	if err != nil {
		return err
	}
	if err := errors.Join(export.Write(r.Context(), page, export.PDF, m, time.Now(), plotly), page.Close()); err != nil {
		return err
	}
	made, err := pdf.Print(r.Context(), page.Name())
	switch {
	case errors.Is(err, pdf.ErrNoBrowser):
		return &failure{http.StatusConflict, "NoBrowser", "A PDF needs Chrome, Edge, Brave or Chromium, and none was found. " +
			"Install one. Or save the report as a web page, open it in your browser, and print it."}
	case err != nil && r.Context().Err() == nil:
		s.config.Logger.Error("a report was not printed", "err", err)
		return &failure{http.StatusInternalServerError, "NotPrinted", "The browser made no PDF; ForeverVM's log says why. " +
			"Save the report as a web page, open it in your browser, and print it."}
	case err != nil:
		return err
	}
	file, err := os.Open(made)
	if err != nil {
		return err
	}
	defer file.Close()
	attachment(w, m.Name()+export.PDF.Extension(), export.PDF.MediaType())
	_, err = io.Copy(w, file)
	return err
}

// plotly is the code of Plotly, which comes with the page; nil where this program has no page.
func (s *Server) plotly() ([]byte, error) {
	if s.config.Page == nil {
		return nil, nil
	}
	found, err := fs.Glob(s.config.Page, "assets/plotly-strict*.js")
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return fs.ReadFile(s.config.Page, found[0])
}

func formatNames() []string {
	var names []string
	for _, f := range export.Formats {
		names = append(names, string(f))
	}
	return names
}

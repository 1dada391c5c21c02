package server

import (
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/export"
	"github.com/forevervm/desktop/backend/machine"
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
	attachment(w, m.Name()+format.Extension(), format.MediaType())
	return export.Write(r.Context(), w, format, m, time.Now(), plotly)
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

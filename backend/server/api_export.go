package server

import (
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
	attachment(w, m.Name()+"."+string(format), format.MediaType())
	return export.Write(r.Context(), w, format, m, time.Now())
}

func formatNames() []string {
	var names []string
	for _, f := range export.Formats {
		names = append(names, string(f))
	}
	return names
}

package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

// What is shared is chosen at this computer, by whom its files belong to: a token that was given to
// somebody elsewhere is not enough.
var errNotHere = &failure{
	http.StatusForbidden, "NotHere",
	"Folders of this computer are shared at this computer alone: in ForeverVM's window there, or with `forevervm machine share`.",
}

func (s *Server) shareFolder(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	if !isHere(r) {
		return errNotHere
	}
	var body api.SharedFolder
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	what := "to read: "
	if body.Writable {
		what = "to read and write: "
	}
	return s.share(w, r, m, &machine.SharedFolder{Path: body.Path, Writable: body.Writable}, audit.Share, what+body.Path)
}

func (s *Server) stopSharing(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	return s.share(w, r, m, nil, audit.Unshare, "")
}

func (s *Server) share(w http.ResponseWriter, r *http.Request, m machine.Handle, folder *machine.SharedFolder, action audit.Action, about string) error {
	changed, err := m.Share(r.Context(), folder)
	if err != nil {
		return err
	}
	s.note(r, action, changed.Name, about)
	return writeJSON(w, http.StatusOK, s.machineJSON(changed))
}

// openResults shows the folder with a machine's results to the person at this computer.
func (s *Server) openResults(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	if !isHere(r) {
		return &failure{http.StatusForbidden, "NotHere", "Folders of this computer are opened at this computer alone, in ForeverVM's window there."}
	}
	path, err := m.Results()
	if err != nil {
		return err
	}
	if err := s.config.Open(r.Context(), path); err != nil {
		return &failure{http.StatusConflict, "NotOpened", fmt.Sprintf("The folder was not opened: %v. Open it yourself: %s", err, path)}
	}
	return writeJSON(w, http.StatusOK, api.Opened{Path: path})
}

// isHere says whether a request comes from a program on this computer: over the socket, or from a
// loopback address.
func isHere(r *http.Request) bool {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && at.Network() != "tcp" {
		return true
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/parcel"
)

// pack answers with a machine as a file. One that cannot be finished breaks the answer off, and has
// no signature at its end.
func (s *Server) pack(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	packed, err := m.Pack(r.Context(), r.URL.Query().Get("checkpoint"))
	if err != nil {
		return err
	}
	defer packed.Close()
	s.note(r, audit.Export, m.Name(), parcel.Ending)
	attachment(w, packed.About().Name+parcel.Ending, parcel.MediaType)
	return s.config.Parcels.Pack(r.Context(), w, packed)
}

// lookIntoParcel tells what a file holds whose beginning is the body.
func (s *Server) lookIntoParcel(w http.ResponseWriter, r *http.Request) error {
	beginning, err := io.ReadAll(io.LimitReader(r.Body, parcel.MaxHead))
	if err != nil {
		return invalid("The beginning of the file did not arrive: %v.", err)
	}
	head, err := parcel.ReadHead(bytes.NewReader(beginning))
	if err != nil {
		return err
	}
	standing, name, err := s.config.Parcels.Makers.Standing(head.Maker)
	if err != nil {
		return err
	}
	about := head.About
	seen := api.Parcel{
		Name: about.Name, Title: about.Title, Tags: about.Tags, Image: about.Image, MemoryMB: about.MemoryMB,
		Instructions: about.State.LastSeq + 1, Size: about.State.Size(), SavedAt: head.MadeAt, Program: head.Program,
		Maker: api.ParcelMaker{Fingerprint: parcel.Fingerprint(head.Maker), Standing: string(standing), Name: name},
	}
	if seen.Tags == nil {
		seen.Tags = map[string]string{}
	}
	if err := s.config.Machines.MayUnpack(r.Context(), about, unpackOptions(r)); err != nil {
		var said *machine.Error
		if !errors.As(err, &said) {
			return err
		}
		seen.Problem = said.Message
	}
	return writeJSON(w, http.StatusOK, seen)
}

// unpack makes a machine of a file.
func (s *Server) unpack(w http.ResponseWriter, r *http.Request) error {
	opts := unpackOptions(r)
	query := r.URL.Query()
	trust := parcel.Trust{Fingerprint: query.Get("trust"), Name: strings.TrimSpace(query.Get("maker"))}
	body := &body{from: r.Body}
	taken, err := s.config.Parcels.Receive(r.Context(), body, trust, func(about machine.Foreign) error {
		return s.config.Machines.MayUnpack(r.Context(), about, opts)
	})
	if body.err != nil {
		return invalid("The file did not arrive whole, so nothing was opened: %v.", body.err)
	}
	if err != nil {
		return err
	}
	defer taken.Close()
	made, err := s.config.Machines.Unpack(r.Context(), taken, opts)
	if err != nil {
		return err
	}
	s.note(r, audit.Import, made.Name, "")
	if err := s.config.Parcels.Remember(taken, trust); err != nil {
		s.config.Logger.Warn("the maker of a file is not remembered", "err", err)
	}
	return writeJSON(w, http.StatusOK, s.machineJSON(made))
}

func unpackOptions(r *http.Request) machine.CreateOptions {
	query := r.URL.Query()
	return machine.CreateOptions{Name: query.Get("name"), Title: query.Get("title"), Engine: query.Get("engine"), Client: clientOf(r)}
}

func (s *Server) listMakers(w http.ResponseWriter, _ *http.Request) error {
	all, err := s.config.Parcels.Makers.Accepted()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(all, "", func(m parcel.Maker) api.Maker {
		return api.Maker{Fingerprint: parcel.Fingerprint(m.Key), Name: m.Name, AcceptedAt: m.AcceptedAt}
	}))
}

func (s *Server) forgetMaker(w http.ResponseWriter, r *http.Request) error {
	if err := s.config.Parcels.Makers.Forget(r.PathValue("fingerprint")); err != nil {
		return err
	}
	return noContent(w)
}

package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

// ownerName is what people call the owner of a machine; "" for the daemon's user.
func (s *Server) ownerName(id string) string {
	if id == "" {
		return ""
	}
	p, ok := s.config.People.Get(id)
	switch {
	case !ok:
		return id // the list of people was lost
	case p.Removed():
		return p.Name + " (removed)"
	}
	return p.Name
}

// machinesPerPerson counts those that are not in the bin.
func (s *Server) machinesPerPerson(r *http.Request) (map[string]int, error) {
	page, err := s.config.Machines.List(r.Context(), machine.Filter{Limit: -1})
	counts := map[string]int{}
	for _, m := range page.Items {
		counts[m.Owner]++
	}
	return counts, err
}

func personJSON(p access.Person, machines map[string]int) api.Person {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return api.Person{ID: p.ID, Name: p.Name, MadeAt: p.MadeAt, UsedOn: at(p.UsedOn), RemovedAt: at(p.RemovedAt), Machines: machines[p.ID]}
}

// listPeople tells of those who are there, and of those who were removed and still have machines.
func (s *Server) listPeople(w http.ResponseWriter, r *http.Request) error {
	machines, err := s.machinesPerPerson(r)
	if err != nil {
		return err
	}
	page := api.List[api.Person]{Items: []api.Person{}}
	for _, p := range s.config.People.List() {
		if !p.Removed() || machines[p.ID] > 0 {
			page.Items = append(page.Items, personJSON(p, machines))
		}
	}
	return writeJSON(w, http.StatusOK, page)
}

func (s *Server) addPerson(w http.ResponseWriter, r *http.Request) error {
	var body api.NewPerson
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	made, token, err := s.config.People.Add(body.Name)
	if err != nil {
		return personFailure(err)
	}
	s.note(r, audit.Person, "", "added: "+made.Name)
	return writeJSON(w, http.StatusOK, api.MadePerson{Person: personJSON(made, nil), Token: token})
}

func (s *Server) renewPerson(w http.ResponseWriter, r *http.Request) error {
	machines, err := s.machinesPerPerson(r)
	if err != nil {
		return err
	}
	now, token, err := s.config.People.Renew(r.PathValue("id"))
	if err != nil {
		return personFailure(err)
	}
	s.note(r, audit.Person, "", "got a new token: "+now.Name)
	return writeJSON(w, http.StatusOK, api.MadePerson{Person: personJSON(now, machines), Token: token})
}

func (s *Server) removePerson(w http.ResponseWriter, r *http.Request) error {
	machines, err := s.machinesPerPerson(r)
	if err != nil {
		return err
	}
	gone, err := s.config.People.Remove(r.PathValue("id"))
	if err != nil {
		return personFailure(err)
	}
	s.note(r, audit.Person, "", "removed: "+gone.Name)
	return writeJSON(w, http.StatusOK, personJSON(gone, machines))
}

func personFailure(err error) error {
	switch {
	case errors.Is(err, access.ErrPersonName):
		return invalid("Give the person a name of 1 to 60 letters, digits and spaces.")
	case errors.Is(err, access.ErrPersonThere):
		return &failure{http.StatusConflict, "NameTaken", "There is a person of that name. Choose another name, or give that person a new token with `forevervm people renew`."}
	case errors.Is(err, access.ErrNoPerson):
		return &failure{http.StatusNotFound, "PersonNotFound", "There is no such person. They may have been removed; `forevervm people list` lists all."}
	}
	return err
}

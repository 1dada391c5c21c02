package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

// telling is a network that tells of connections.
type telling struct {
	machine.Network
	of []machine.Connection
}

func (n telling) Carry(_ context.Context, _ net.Conn, visit machine.Visit) {
	for _, c := range n.of {
		visit.Tell(c)
	}
}

// A machine's hosts are noted once a day, and no number of them hides where a secret went.
func TestContactsAndSecretsAreNoted(t *testing.T) {
	record, err := audit.Open(filepath.Join(t.TempDir(), "record.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []machine.Connection
	for n := range 3 * mostContacts {
		all = append(all, machine.Connection{Host: fmt.Sprintf("h%d.example", n), State: machine.ConnectionOpen})
	}
	used := machine.Connection{Host: "api.service.example", State: machine.ConnectionOpen, Secrets: []string{"SERVICE_KEY"}}
	all = append(all, used, used)
	people, err := access.OpenPeople(filepath.Join(t.TempDir(), "people.json"), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	anna, _, err := people.Add("Anna")
	if err != nil {
		t.Fatal(err)
	}
	network := &recordedNetwork{Network: telling{of: all}, record: record, people: people, log: slog.New(slog.DiscardHandler)}
	network.Carry(t.Context(), nil, machine.Visit{Machine: "m", Name: func() string { return "brave-otter-42" }, Tell: func(machine.Connection) {}})
	found, err := record.List(0, 500)
	if err != nil {
		t.Fatal(err)
	}
	var contacts, secrets int
	for _, entry := range found.Entries {
		switch {
		case entry.Action == audit.Contact:
			contacts++
		case entry.Action == audit.Secret && entry.About == "SERVICE_KEY went to api.service.example" && entry.Machine == "brave-otter-42":
			secrets++
		}
	}
	if contacts != mostContacts+1 || secrets != 1 {
		t.Errorf("%d contacts and %d secrets are noted", contacts, secrets)
	}

	// Of a machine of somebody of a team it is noted whose it is.
	network.Network = telling{of: all[:1]}
	network.Carry(t.Context(), nil, machine.Visit{Machine: "a", Owner: anna.ID, Name: func() string { return "calm-fox-7" }, Tell: func(machine.Connection) {}})
	if found, err = record.List(0, 1); err != nil || found.Entries[0].By != "Anna" || found.Entries[0].Machine != "calm-fox-7" {
		t.Errorf("%+v, %v", found.Entries, err)
	}
}

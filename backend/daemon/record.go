package daemon

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

// mostContacts is how many hosts of a machine are put into the record in a day: code that reaches
// thousands must not bury the rest.
const mostContacts = 100

// recordedNetwork puts into the record which hosts machines reach, and which secrets go there, each
// once a day for a machine.
// All connections are in the database.
type recordedNetwork struct {
	machine.Network
	record *audit.Log
	people *access.People
	log    *slog.Logger

	mu   sync.Mutex
	day  string
	told map[noted]map[string]bool // hosts, of the day
}

type noted struct {
	machine machine.ID
	secret  string // "" for hosts: any number of them hides no secret
}

// Carry serves a connection, and notes when it is open.
func (n *recordedNetwork) Carry(ctx context.Context, conn net.Conn, visit machine.Visit) {
	tell := visit.Tell
	visit.Tell = func(c machine.Connection) {
		tell(c)
		if c.State == machine.ConnectionOpen {
			n.note(visit, audit.Contact, "", c.Host)
		}
		for _, name := range c.Secrets {
			n.note(visit, audit.Secret, name, name+" went to "+c.Host)
		}
	}
	n.Network.Carry(ctx, conn, visit)
}

func (n *recordedNetwork) note(visit machine.Visit, action audit.Action, secret, what string) {
	about, isNew := n.contact(noted{visit.Machine, secret}, what)
	if !isNew {
		return
	}
	name := visit.Name()
	by := name
	if owner, ok := n.people.Get(visit.Owner); ok {
		by = owner.Name
	}
	if err := n.record.Add(audit.Entry{Action: action, By: by, Machine: name, About: about}); err != nil {
		n.log.Error("the record misses a contact", "err", err)
	}
}

// contact returns what to note, and whether that is new today.
func (n *recordedNetwork) contact(of noted, what string) (about string, isNew bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if today := time.Now().UTC().Format(time.DateOnly); today != n.day {
		n.day, n.told = today, map[noted]map[string]bool{}
	}
	hosts := n.told[of]
	if hosts == nil {
		hosts = map[string]bool{}
		n.told[of] = hosts
	}
	if hosts[what] || len(hosts) > mostContacts {
		return "", false
	}
	hosts[what] = true
	if len(hosts) > mostContacts {
		return "more hosts", true
	}
	return what, true
}

package daemon

import (
	"context"
	"time"

	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

// recordContacts notes which hosts machines reach, each once a day and machine, until ctx ends. All
// connections are in the database.
func (d *daemon) recordContacts(ctx context.Context, events <-chan machine.Event, record *audit.Log) {
	day, seen := "", map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-events:
			if !ok {
				return
			}
			c := event.Connection
			if c == nil || c.State != machine.ConnectionOpen || event.Machine == nil {
				continue
			}
			if today := time.Now().UTC().Format(time.DateOnly); today != day {
				day = today
				clear(seen)
			}
			key := string(event.Machine.ID) + " " + c.Host
			if seen[key] {
				continue
			}
			seen[key] = true
			if err := record.Add(audit.Entry{Action: audit.Contact, By: event.Machine.Name, Machine: event.Machine.Name, About: c.Host}); err != nil {
				d.log.Error("the record misses a contact", "err", err)
			}
		}
	}
}

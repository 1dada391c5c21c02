package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

// opening is a network on which every connection is open at once.
type opening struct {
	machine.Network
	host string
}

func (o *opening) Carry(_ context.Context, _ net.Conn, visit machine.Visit) {
	for _, state := range []machine.ConnectionState{machine.ConnectionAsking, machine.ConnectionOpen, machine.ConnectionClosed} {
		visit.Tell(machine.Connection{Host: o.host, State: state})
	}
}

func TestContactsAreRecordedOnceADayAndNotWithoutEnd(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		record, err := audit.Open(filepath.Join(folder, "record.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		net := &opening{}
		n := &recordedNetwork{Network: net, record: record, log: slog.New(slog.DiscardHandler)}
		told := 0
		reach := func(name, host string) {
			net.host = host
			n.Carry(t.Context(), nil, machine.Visit{
				Machine: machine.ID(name), Name: func() string { return name }, Tell: func(machine.Connection) { told++ },
			})
		}
		entries := func() []audit.Entry {
			page, err := record.List(0, 1000)
			if err != nil || page.Broken != 0 {
				t.Fatalf("%+v, %v", page, err)
			}
			return page.Entries
		}
		for range 3 {
			reach("m", "a.example")
		}
		reach("n", "a.example")
		if all := entries(); len(all) != 2 || all[0].Machine != "n" || all[1].About != "a.example" || all[1].Action != audit.Contact || told != 12 {
			t.Errorf("%+v, and %d told", all, told)
		}
		time.Sleep(25 * time.Hour)
		for i := range 3 * mostContacts {
			reach("m", fmt.Sprint(i, ".example"))
		}
		if all := entries(); len(all) != 2+mostContacts+1 || all[0].About != "more hosts" {
			t.Errorf("%d entries, the last %+v", len(all), all[0])
		}
	})
}

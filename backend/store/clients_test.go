package store

import (
	"errors"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

func TestClients(t *testing.T) {
	s := openNew(t)
	if all, err := s.Clients(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	by := func(seq int, name, version string, queued int) machine.InstructionRecord {
		in := instruction("a", seq, "1")
		in.Client, in.QueuedAt = machine.Client{Name: name, Version: version}, at(queued)
		return in
	}
	hello := func(name, version string, seen, calls int) machine.ClientUse {
		return machine.ClientUse{Client: machine.Client{Name: name, Version: version}, SeenAt: at(seen), Calls: calls}
	}
	write(t, s, func(w machine.Writer) error {
		return errors.Join(
			w.PutMachine(record("a", "one")),
			w.AddInstruction(by(0, "Zed", "1", 10)), w.AddInstruction(by(1, "Zed", "2", 20)), w.AddInstruction(by(2, "page", "", 15)),
			w.PutClient(hello("Claude Desktop", "1.0", 5, 0)), w.PutClient(hello("Claude Desktop", "1.1", 30, 3)), w.PutClient(hello("Claude Desktop", "1.0", 29, 4)),
			w.PutClient(hello("Zed", "0", 1, 1)),
		)
	})
	want := []machine.ClientUse{hello("Claude Desktop", "1.1", 30, 7), hello("Zed", "2", 20, 1), hello("page", "", 15, 0)}
	all, err := s.Clients(t.Context())
	ok(t, err)
	if len(all) != len(want) {
		t.Fatalf("%+v", all)
	}
	for i := range want {
		if all[i] != want[i] {
			t.Errorf("%+v, want %+v", all[i], want[i])
		}
	}
}

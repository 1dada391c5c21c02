//go:build real

package daemon_test

import (
	"slices"
	"testing"

	"github.com/forevervm/desktop/backend/api"
)

// storageCalls looks at the storage, and frees nothing that others need.
func (c *caller) storageCalls(t *testing.T) {
	c.t = t
	as[api.Storage](c, c.send("GET", "/api/storage", nil))
	as[api.Storage](c, c.send("POST", "/api/storage/free", api.FreeUp{Packages: true}))
}

// The bin and automatic checkpoints can be deleted. Machines and what the person saved stay.
func TestStorage(t *testing.T) {
	c := newSpecCaller(t, start(t, t.TempDir()))
	name, gone := c.machine(), c.machine()
	c.run(gone, "import os; x = os.urandom(30 << 20)")
	c.run(name, "import os; x = os.urandom(20 << 20)")
	as[api.Checkpoint](c, c.send("POST", "/api/machines/"+name+"/checkpoints", api.NewCheckpoint{Label: "mine"}))
	checkpoints := func() []api.Checkpoint {
		return as[api.List[api.Checkpoint]](c, c.send("GET", "/api/machines/"+name+"/checkpoints", nil)).Items
	}
	for n := range 2 { // each is saved once it is at rest
		c.run(name, "y = os.urandom(10 << 20)")
		until(t, "the machine to be saved", func() bool {
			all := checkpoints()
			return slices.ContainsFunc(all, func(k api.Checkpoint) bool { return k.Present && k.LastSeq == n+1 })
		})
	}
	c.send("DELETE", "/api/machines/"+gone, nil)

	bytesOf := func(now api.Storage, machine string) int64 {
		for _, m := range now.Machines {
			if m.Name == machine {
				return m.Bytes
			}
		}
		return 0
	}
	var before api.Storage
	until(t, "the older checkpoints to be shrunk", func() bool {
		before = as[api.Storage](c, c.send("GET", "/api/storage", nil))
		return before.CheckpointsBytes > 5<<20
	})
	if before.Machines[0].Bytes < before.Machines[1].Bytes || bytesOf(before, gone) < 30<<20 || before.BinBytes < 30<<20 || bytesOf(before, name) < 30<<20 || before.UsedBytes < before.BinBytes+bytesOf(before, name) {
		t.Errorf("%+v", before)
	}

	after := as[api.Storage](c, c.send("POST", "/api/storage/free", api.FreeUp{Checkpoints: true}))
	if after.Checkpoints != 0 || after.BinBytes < 30<<20 || after.UsedBytes > before.UsedBytes-5<<20 {
		t.Errorf("of %+v there is left %+v", before, after)
	}
	if all := checkpoints(); !slices.ContainsFunc(all, func(k api.Checkpoint) bool { return k.Label == "mine" }) {
		t.Errorf("the person's own checkpoint is gone: %+v", all)
	}
	last := as[api.Storage](c, c.send("POST", "/api/storage/free", api.FreeUp{Bin: true, Packages: true}))
	if last.BinBytes != 0 || bytesOf(last, gone) != 0 || last.UsedBytes > after.UsedBytes-30<<20 {
		t.Errorf("of %+v there is left %+v", after, last)
	}
	if in := c.run(name, "len(x), len(y)"); in.Status != "ok" {
		t.Errorf("%+v", in)
	}
}

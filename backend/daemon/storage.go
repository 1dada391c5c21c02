package daemon

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/egress"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// storage tells what takes room on the disk, and gives it back.
type storage struct {
	machines *service.Service
	network  *egress.Proxy
	dirs     home.Dirs
}

// Storage measures what ForeverVM keeps.
func (s storage) Storage(ctx context.Context) (api.Storage, error) {
	checkpoints, err := s.machines.CheckpointUse(ctx)
	if err != nil {
		return api.Storage{}, err
	}
	used, err := usedBy(s.dirs)
	if err != nil {
		return api.Storage{}, err
	}
	free, err := freeDisk(s.dirs.Data)
	if err != nil {
		return api.Storage{}, err
	}
	return told(used, free, checkpoints), nil
}

// told puts together what takes room. What is no machine's own is shared: Python with its packages,
// and blocks of checkpoints that several machines have in common.
func told(used space, free int64, checkpoints []machine.CheckpointUse) api.Storage {
	all := api.Storage{UsedBytes: used.all, FreeBytes: free, PackagesBytes: used.packages, Machines: []api.MachineStorage{}}
	all.SharedBytes = used.all - used.packages
	for _, c := range checkpoints {
		m := c.Machine
		one := api.MachineStorage{ID: string(m.ID), Name: m.Name, Title: m.Title, Engine: m.Engine, Deleted: m.State == machine.Deleted, Bytes: used.machines[m.ID] + c.Bytes}
		if !isFar(m.Engine) { // what is there takes nothing here
			all.SharedBytes -= one.Bytes
		}
		all.Machines = append(all.Machines, one)
		if one.Deleted {
			all.BinBytes += one.Bytes
			continue
		}
		all.Checkpoints += c.Passing
		all.CheckpointsBytes += c.PassingBytes
	}
	// Blocks of a checkpoint that is gone may be needed by another, so the parts can be a little
	// more than the whole.
	all.SharedBytes = max(0, all.SharedBytes)
	slices.SortFunc(all.Machines, func(a, b api.MachineStorage) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// FreeUp deletes what was chosen, for good, and measures again.
func (s storage) FreeUp(ctx context.Context, what api.FreeUp) (api.Storage, error) {
	err := s.machines.FreeUp(ctx, what.Bin, what.Checkpoints)
	if what.Packages {
		err = errors.Join(err, s.network.ForgetPackages())
	}
	if err != nil {
		return api.Storage{}, err
	}
	return s.Storage(ctx)
}

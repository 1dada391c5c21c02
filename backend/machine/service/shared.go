package service

import (
	"context"
	"path/filepath"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// Share has a machine see a folder of this computer, in place of the one that it saw before, or
// none where folder is nil. One that is in memory is saved for it and comes back, also in the
// middle of an instruction. It is for a person to ask for, never for what runs on their behalf.
func (e *entry) Share(ctx context.Context, folder *machine.SharedFolder) (machine.Machine, error) {
	return under(ctx, e, func(ctx context.Context) (machine.Machine, error) { return e.share(ctx, folder) })
}

// share is Share with op held.
func (e *entry) share(ctx context.Context, folder *machine.SharedFolder) (machine.Machine, error) {
	o := e.lock()
	err := o.usable()
	was := o.rec.Machine
	base := o.rec.Base
	o.unlock()
	if err != nil {
		return machine.Machine{}, err
	}
	if folder != nil {
		if folder, err = e.s.mayShare(ctx, was, base, *folder); err != nil {
			return machine.Machine{}, err
		}
	} else if was.Shared == nil {
		return e.Machine(), nil
	}
	// What it sees can be changed only while it is not in memory. First, so that what is on record
	// is what it sees.
	inMemory := e.inMemory()
	if err := e.stop(ctx, nil); err != nil {
		e.s.health.failed(err)
		return machine.Machine{}, saveError(err)
	}
	o = e.lock()
	err = o.saveSync(ctx, func(r *machine.MachineRecord) { r.Shared = folder })
	o.unshared, o.cameUp = "", ""
	if e.s.shareWatch != nil { // a person who shares a folder again has seen what came up there
		e.s.shareWatch.Forget(e.id)
	}
	o.publish()
	o.unlock()
	if err != nil {
		e.s.health.failed(err)
		return machine.Machine{}, err
	}
	if inMemory {
		if err := e.startNow(ctx); err != nil { // which is on record, and the folder is shared all the same
			e.log().Warn("the machine did not come back with another shared folder", "err", err)
		}
	}
	return e.Machine(), nil
}

// mayShare is the folder as it is to be shared with a machine, unless it may not be.
func (s *Service) mayShare(ctx context.Context, m machine.Machine, base string, folder machine.SharedFolder) (*machine.SharedFolder, error) {
	engine, err := s.engineOf(m.Engine)
	if err != nil {
		return nil, err
	}
	if s.shareable == nil {
		return nil, &machine.Error{Kind: machine.ErrConflict, Message: "Folders of this computer cannot be shared with this machine."}
	}
	if folder.Path, err = s.shareable(folder.Path, folder.Writable); err != nil {
		return nil, err
	}
	if err := s.mayShareBeside(m.ID, folder); err != nil {
		return nil, err
	}
	if err := engine.MayShow(ctx, m.ID, m.Image, base); err != nil {
		return nil, err
	}
	return &folder, nil
}

// mayShareBeside refuses a folder in one that another machine may change: code there could put
// something else in its place, just when it is mounted. The very same folder may be shared with
// many, as none can replace it.
func (s *Service) mayShareBeside(id machine.ID, folder machine.SharedFolder) error {
	for _, e := range s.entries() {
		other := e.Machine()
		if other.ID == id || other.Shared == nil {
			continue
		}
		if other.Shared.Writable && isBelow(folder.Path, other.Shared.Path) || folder.Writable && isBelow(other.Shared.Path, folder.Path) {
			return machine.Conflict("%s is shared with %s, and one of the two folders is in the other. What code may change must not hold a folder that another machine sees: "+
				"let code only read it, share the very same folder, or stop sharing that one.", other.Shared.Path, other.Name)
		}
	}
	return nil
}

// isBelow says whether a path leads to something in a folder.
func isBelow(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// tellUnshared notes whether a machine that came into memory sees its folder, and has anyone who
// works with it told when that is not so any more.
func (o owned) tellUnshared(ctx context.Context, now machine.Unshared) {
	was := o.unshared
	o.unshared = now
	if now == "" || now == was {
		return
	}
	if err := o.save(ctx, func(r *machine.MachineRecord) { r.NextNotice = naming.Join(r.NextNotice, now.Sentence()) }); err != nil {
		o.log().Warn("a notice is missing", "err", err)
	}
}

// lookAfter is how long after an instruction a shared folder that code may change is looked at.
// Those that end meanwhile cause no other look. A look that takes long is followed by a longer
// pause, so that looks take a twentieth of a processor at most.
const lookAfter = time.Second

// watchShared looks at the folder that code in the machine may change, and tells the person what
// came up there. last says that the machine's sandbox has ended.
func (e *entry) watchShared(ctx context.Context, last bool) {
	o := e.lock()
	folder, gone := o.rec.Shared, o.life.Gone
	o.unlock()
	if e.s.shareWatch == nil || folder == nil || !folder.Writable || gone {
		return
	}
	news, all, err := e.s.shareWatch.Look(ctx, e.id, folder.Path, last)
	if err != nil && ctx.Err() == nil {
		e.log().Warn("a shared folder was not looked at", "err", err)
	}
	o = e.lock()
	defer o.unlock()
	if o.life.Gone {
		return
	}
	if all != o.cameUp {
		o.cameUp = all
		o.publish()
	}
	if news == "" {
		return
	}
	if err := o.save(ctx, func(r *machine.MachineRecord) { r.NextNotice = naming.Join(r.NextNotice, news) }); err != nil {
		e.log().Warn("a notice is missing", "err", err)
	}
}

// lookLater looks at the shared folder soon, as an instruction has ended.
func (x *session) lookLater(o owned) {
	folder := o.rec.Shared
	if o.s.shareWatch == nil || folder == nil || !folder.Writable || x.look != nil {
		return
	}
	x.look = o.s.after(max(lookAfter, 20*x.looked), func() {
		x.looking.Lock()
		defer x.looking.Unlock()
		o := x.e.lock()
		alive := x.alive(o)
		o.unlock()
		if !alive { // the last look is made, or about to be
			return
		}
		began := time.Now()
		o.watchShared(o.s.ctx, false)
		o = x.e.lock()
		defer o.unlock()
		x.look, x.looked = nil, time.Since(began)
	})
}

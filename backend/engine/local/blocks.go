package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/checkpoint/blocks"
	"github.com/forevervm/desktop/backend/machine"
)

// OpenBlocks opens the store of blocks under a data folder.
func OpenBlocks(data string) *blocks.Store {
	return blocks.Open(filepath.Join(data, "blocks"), func() ([]string, error) { return recipes(data) })
}

// recipes tells where all recipes lie. What cannot be read is an error: what it refers to would be
// taken for garbage.
func recipes(data string) (all []string, err error) {
	folders, err := folders(data)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		found, err := folder.Recipes()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// folders are those of all machines and templates.
func folders(data string) (all []checkpoint.Folder, err error) {
	for _, owners := range []string{"machines", "templates"} {
		entries, err := os.ReadDir(filepath.Join(data, owners))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() || strings.HasSuffix(e.Name(), removed) {
				continue
			}
			all = append(all, Checkpoints(filepath.Join(data, owners, e.Name())))
		}
	}
	return all, nil
}

// guard keeps those from each other's way who work with the checkpoints of one machine.
type guard struct {
	changing sync.Mutex   // held by who shrinks or deletes
	using    sync.RWMutex // held, for reading, by who uses a folder; wholly by who removes one that is kept as blocks
}

func (s *Store) guard(id machine.ID) *guard {
	g, _ := s.guards.LoadOrStore(id, &guard{})
	return g.(*guard)
}

// restoringName is the folder in a machine's for the files of a checkpoint of which there are only
// blocks.
const restoringName = "restoring"

// Open finds a machine's checkpoint, makes sure that these parts can restore it, and returns the
// folder of its files, whose name is the checkpoint's. It is good until done is called.
func (s *Store) Open(ctx context.Context, id machine.ID, name string, p Parts) (dir string, done func(), err error) {
	m, err := Checkpoints(s.Machine(id)).Load(name)
	if err != nil {
		return "", nil, explain(ctx, err)
	}
	if err := p.Fits(m); err != nil {
		return "", nil, err
	}
	dir, _, done, err = s.open(ctx, id, name, !p.CheckPages())
	return dir, done, err
}

// open is Open without regard to what can restore the checkpoint. With all, its memory is compared,
// too: who reads it later does not.
func (s *Store) open(ctx context.Context, id machine.ID, name string, all bool) (dir string, m checkpoint.Manifest, done func(), err error) {
	g := s.guard(id)
	g.using.RLock()
	defer func() {
		if err != nil {
			g.using.RUnlock()
		}
	}()
	folder := Checkpoints(s.Machine(id))
	if m, err = folder.Load(name); err != nil {
		return "", m, nil, explain(ctx, err)
	}
	whole, err := s.ready(ctx, folder, name, all)
	if err != nil {
		return "", m, nil, explain(ctx, err)
	}
	if whole {
		return folder.Path(name), m, g.using.RUnlock, nil
	}
	restoring := filepath.Join(s.Machine(id), restoringName)
	if err := os.RemoveAll(restoring); err != nil { // left by a crash
		return "", m, nil, Describe(err)
	}
	if err := folder.Expand(ctx, name, restoring, s.like(id, m), s.blocks); err != nil {
		return "", m, nil, explain(ctx, err)
	}
	return filepath.Join(restoring, name), m, func() {
		if err := os.RemoveAll(restoring); err != nil {
			s.cfg.Log.Warn("files of a checkpoint stay behind", "machine", id, "error", err)
		}
		g.using.RUnlock()
	}, nil
}

// like is the path of a whole checkpoint that one of a machine, of which there are only blocks, has
// most in common with: the machine's own, that of the machine which it was forked from, or the
// template.
func (s *Store) like(id machine.ID, m checkpoint.Manifest) string {
	like := Checkpoints(s.Machine(id)).Like()
	if parent, ok := s.parents.LoadAndDelete(id); ok && like == "" {
		like = Checkpoints(s.Machine(parent.(machine.ID))).Like()
	}
	if like == "" {
		like = templateIn(s.templateOf(templateKey(m.Spec, m.Image, m.Runtime)))
	}
	return like
}

// ready says whether the files of a checkpoint can be started from. Those that have changed are of
// no use, and its blocks count, where it is kept as such, too.
func (s *Store) ready(ctx context.Context, folder checkpoint.Folder, name string, all bool) (bool, error) {
	if !folder.Whole(name) {
		return false, nil
	}
	m, err := checkpoint.Load(folder.Path(name))
	switch {
	case err != nil:
	case all || m.Sums == nil:
		err = folder.Compare(ctx, name)
	default:
		err = checkpoint.Check(folder.Path(name))
	}
	if err == nil || ctx.Err() != nil {
		return err == nil, err
	}
	s.cfg.Log.Error("the files of a checkpoint cannot be used", "checkpoint", folder.Path(name), "error", err)
	changed := errors.Is(err, checkpoint.ErrUnusable)
	if folder.Kept(name) {
		err = nil
	}
	if changed {
		s.warn(err == nil)
	}
	return false, err
}

// warn tells people that saved state has changed on the disk, and whether it has another copy.
func (s *Store) warn(copied bool) {
	if s.cfg.Warn == nil {
		return
	}
	what := "It has another copy, which is used in its place."
	if !copied {
		what = "It has no other copy: return the machine to an earlier checkpoint."
	}
	s.cfg.Warn("The saved state of a machine has changed on the disk, which may be failing. " + what + " Copy what matters to another disk.")
}

// Damaged is what an engine does about a machine whose memory, read from its checkpoint of that
// name, was found damaged. It says what helps.
func (s *Store) Damaged(id machine.ID, name string) (helps string) {
	if s.SetAside(context.Background(), id, name) {
		return "It has another copy, which counts from now on."
	}
	return "Return the machine to an earlier checkpoint if this comes again."
}

// DamagedTemplate is Damaged for a machine that was never saved, and so was read from the template
// in the folder found.
func (s *Store) DamagedTemplate(p Parts, found string) (helps string) {
	if err := s.DiscardTemplate(context.Background(), p, found); err != nil {
		s.cfg.Log.Error("a damaged template stays", "error", err)
	}
	return "What new machines begin with is made again."
}

// SetAside looks at all of a checkpoint whose machine found its memory damaged. Where its files
// have changed and its blocks have not, the files go, so that blocks count from then on, and it
// says so.
func (s *Store) SetAside(ctx context.Context, id machine.ID, name string) bool {
	if ValidID(id) != nil || !checkpoint.ValidID(name) {
		return false
	}
	g := s.guard(id)
	g.changing.Lock()
	defer g.changing.Unlock()
	folder := Checkpoints(s.Machine(id))
	if !folder.Whole(name) {
		return false
	}
	changed := folder.Compare(ctx, name)
	if changed == nil || ctx.Err() != nil {
		return false // an error of reading is reason enough: the files go only where the blocks are good
	}
	log := s.cfg.Log.With("machine", id, "checkpoint", name)
	log.Error("the files of a checkpoint are damaged: the disk may be failing", "error", changed)
	if err := folder.ConfirmBlocks(ctx, name, s.blocks); err != nil {
		log.Error("and it cannot be made of blocks", "error", err)
		if errors.Is(changed, checkpoint.ErrUnusable) {
			s.warn(false)
		}
		return false
	}
	g.using.Lock()
	defer g.using.Unlock()
	if err := folder.DropDamaged(name); err != nil {
		log.Error("and they cannot be removed", "error", err)
		return false
	}
	s.warn(true)
	return true
}

// Seal is machine.Checkpoints'.
func (s *Store) Seal(ctx context.Context, id machine.ID, name string) error {
	if err := ValidID(id); err != nil {
		return err
	}
	g := s.guard(id)
	g.changing.Lock()
	defer g.changing.Unlock()
	folder := Checkpoints(s.Machine(id))
	if !folder.Whole(name) { // it is kept as blocks, or gone
		return nil
	}
	err := beside(func() error { return errors.Join(folder.Seal(ctx, name), s.keepOwn(ctx, folder, name)) })
	if err != nil {
		return explain(ctx, err)
	}
	return nil
}

// keepOwn keeps a checkpoint as blocks, too, before the machine runs on and it becomes them anyway:
// what comes back from blocks meanwhile takes from its files what the two have in common. One that
// a fork was made with is not its own, and has its like elsewhere.
func (s *Store) keepOwn(ctx context.Context, folder checkpoint.Folder, name string) error {
	m, err := folder.Load(name)
	if err != nil || m.Life == "" {
		return err
	}
	_, err = s.keep(ctx, folder, name)
	return err
}

// Whole are the checkpoints under a data folder whose files are there as they were written, and
// with readData those of them that have changed since they were saved, and why.
func Whole(ctx context.Context, data string, readData bool) (n int, lost map[string]error, err error) {
	lost = map[string]error{}
	folders, err := folders(data)
	if err != nil {
		return 0, nil, err
	}
	for _, folder := range folders {
		all, err := folder.List()
		if err != nil {
			return n, lost, err
		}
		for _, m := range all {
			if !folder.Whole(m.ID) {
				continue
			}
			n++
			if !readData {
				continue
			}
			err := folder.Compare(ctx, m.ID)
			switch {
			case ctx.Err() != nil:
				return n, lost, ctx.Err()
			case err != nil && folder.Whole(m.ID): // else it was deleted meanwhile
				lost[folder.Path(m.ID)] = err
			}
		}
	}
	return n, lost, nil
}

func damaged(err error) error {
	return Unusable("The saved state of this machine is missing or damaged. An earlier checkpoint may still work.", err)
}

// Rush says that a machine starts, or stands still: what nobody waits for stands back until done is
// called.
func (s *Store) Rush() (done func()) { return s.blocks.Rush() }

// firstResult is how long after a machine's start what nobody waits for stands back: it was started
// for an instruction.
const firstResult = 200 * time.Millisecond

// Starting is Rush for the start of a machine.
func (s *Store) Starting() (done func()) {
	over := s.blocks.Rush()
	return func() { time.AfterFunc(firstResult, over) }
}

// Compact is machine.Checkpoints'.
func (s *Store) Compact(ctx context.Context, id machine.ID, name string) (size int64, err error) {
	if err := ValidID(id); err != nil {
		return 0, err
	}
	g := s.guard(id)
	g.changing.Lock()
	defer g.changing.Unlock()
	folder := Checkpoints(s.Machine(id))
	var m checkpoint.Manifest
	err = beside(func() error {
		var err error
		if m, err = s.keep(ctx, folder, name); err == nil {
			err = folder.Confirm(ctx, name, s.blocks)
		}
		return err
	})
	if err == nil {
		g.using.Lock()
		err = folder.DropFolder(name)
		g.using.Unlock()
	}
	if err != nil {
		return 0, explain(ctx, err)
	}
	return m.Size, nil
}

// Persist is machine.Checkpoints'.
func (s *Store) Persist(ctx context.Context, id machine.ID, name string, awaited bool) error {
	if err := ValidID(id); err != nil {
		return err
	}
	g := s.guard(id)
	g.changing.Lock()
	defer g.changing.Unlock()
	folder := Checkpoints(s.Machine(id))
	m, err := folder.Load(name)
	switch {
	case err != nil || m.Boot == "":
	case awaited: // looking at all of the files takes longer than bringing them to the disk
		err = folder.Settle(name)
	default:
		err = beside(func() error {
			_, err := s.keep(ctx, folder, name)
			return err
		})
		if err != nil && ctx.Err() == nil && !errors.Is(err, checkpoint.ErrUnusable) && !errors.Is(Describe(err), machine.ErrDiskFull) {
			// The files are good, whatever is wrong with the store of blocks.
			s.cfg.Log.Warn("a checkpoint is not kept as blocks, but as it is", "machine", id, "checkpoint", name, "error", err)
			err = folder.Settle(name)
		}
	}
	if err != nil {
		return explain(ctx, err)
	}
	return nil
}

// keep keeps a checkpoint as blocks, too.
func (s *Store) keep(ctx context.Context, folder checkpoint.Folder, name string) (checkpoint.Manifest, error) {
	m, err := folder.Load(name)
	if err != nil {
		return m, err
	}
	near := folder.Near(name)
	if near == "" {
		near = s.keepTemplate(ctx, m)
	}
	return folder.Keep(ctx, name, near, s.blocks)
}

// explain makes a sentence of why a checkpoint could not be kept or used.
func explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, checkpoint.ErrUnusable):
		return damaged(err)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return Describe(err)
}

// keepTemplate keeps the template that a checkpoint's machine may have begun as, so that what all
// machines have in common is kept once, and returns its path; "" where there is none any more.
func (s *Store) keepTemplate(ctx context.Context, m checkpoint.Manifest) string {
	found := templateIn(s.templateOf(templateKey(m.Spec, m.Image, m.Runtime)))
	if found == "" {
		return ""
	}
	if _, err := checkpoint.Folder(filepath.Dir(found)).Keep(ctx, filepath.Base(found), "", s.blocks); err != nil {
		s.cfg.Log.Warn("the template is not kept as blocks", "error", err)
		return ""
	}
	return found
}

// Used is machine.Checkpoints'.
func (s *Store) Used() (int64, error) { return s.blocks.Used() }

// Collect is machine.Checkpoints'.
func (s *Store) Collect(ctx context.Context) error {
	var freed int64
	err := beside(func() error {
		var err error
		freed, err = s.blocks.Collect(ctx)
		return err
	})
	if err != nil {
		return Describe(err)
	}
	if freed != 0 {
		s.cfg.Log.Debug("blocks collected", "freed", freed)
	}
	return nil
}

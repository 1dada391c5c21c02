package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/store"
)

// notes are sentences that the status tells people until the daemon ends.
type notes struct {
	mu   sync.Mutex
	said []string
	disk string // of the last look at the database; empty for none
	copy string // of the last round of backups; empty for none
}

// add adds a sentence, once.
func (n *notes) add(sentence string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.said, sentence) {
		n.said = append(n.said, sentence)
	}
}

// looked notes how the database is: a sentence, or nothing where all is well.
func (n *notes) looked(sentence string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disk = sentence
}

// backedUp notes what went wrong with the backups of machines: sentences, or nothing.
func (n *notes) backedUp(problem string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.copy = problem
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := slices.Clone(n.said)
	if n.disk != "" {
		all = append(all, n.disk)
	}
	if n.copy != "" {
		all = append(all, n.copy)
	}
	return all
}

// openRecords opens the database. Where it is damaged, missing beside machines or copies of it, or
// empty beside machines, it is made again of its last copy and of what the checkpoints say.
func (d *daemon) openRecords(ctx context.Context) (*store.Store, error) {
	path := d.dirs.DatabaseFile()
	missing, err := store.Missing(path)
	if err != nil {
		return nil, fmt.Errorf("look at the database: %w", err)
	}
	first := false // start of all
	if missing {
		if first, err = d.first(); err != nil {
			return nil, err
		}
	}
	what := "was missing"
	if !missing || first {
		s, err := store.Open(ctx, path)
		forgot := false
		if err == nil {
			if forgot, err = d.forgot(ctx, s); err == nil && !forgot {
				return s, nil
			}
			err = errors.Join(err, s.Close())
		}
		switch {
		case forgot && err == nil:
			what = "was empty"
		case store.Damaged(err):
			d.log.Error("the database is damaged", "err", err)
			what = "was damaged"
		default:
			return nil, err
		}
	}
	told, err := d.recover(ctx, what)
	if err != nil {
		return nil, fmt.Errorf("the history in %s %s and cannot be made again; nothing of it was changed: %w", path, what, err)
	}
	d.log.Error(told)
	d.notes.add(told)
	return store.Open(ctx, path)
}

// recover makes the database again and says in sentences what came of it.
func (d *daemon) recover(ctx context.Context, what string) (string, error) {
	left, err := d.leftMachines()
	if err != nil {
		return "", err
	}
	var changed recovered
	from, aside, err := store.Recover(ctx, d.dirs.DatabaseFile(), func(s *store.Store) (err error) {
		changed, err = recoverMachines(ctx, s, left, d.keeps, ofSystem())
		return err
	})
	if err != nil {
		return "", err
	}
	told := "The file with the history of the machines " + what + ". "
	if from != nil {
		told += fmt.Sprintf("It was made again of the copy of %s: what was recorded since then is gone. ", from.Made.Local().Format("2 January 2006, 15:04"))
	} else {
		told += "There was no copy of it, so what was recorded is gone. "
	}
	if changed.added > 0 {
		told += fmt.Sprintf("Machines that were found on the disk and are on record again, without their history: %d. ", changed.added)
	}
	if changed.moved > 0 {
		told += fmt.Sprintf("Machines whose newest saved state is newer than their history: %d. ", changed.moved)
	}
	if changed.unusable > 0 {
		told += fmt.Sprintf("Machines without a saved state that can be read: %d. ", changed.unusable)
	}
	if aside != "" {
		told += "The old file lies in " + aside + "."
	}
	return strings.TrimSpace(told), nil
}

// first says whether there is neither a machine's folder nor a copy of the database.
func (d *daemon) first() (bool, error) {
	copies, err := store.Backups(d.dirs.DatabaseFile())
	if err != nil {
		return false, fmt.Errorf("look for copies of the database: %w", err)
	}
	left, err := d.leftMachines()
	return len(copies)+len(left) == 0, err
}

// forgot reads what the machines are made of, which fails where that is damaged. It says whether
// the database knows no machine, and there is one that nobody deleted.
func (d *daemon) forgot(ctx context.Context, s *store.Store) (bool, error) {
	r, err := readRecords(ctx, s)
	if err != nil || len(r.machines) > 0 {
		return false, err
	}
	left, err := d.leftMachines()
	for _, g := range r.garbage {
		delete(left, g.Machine)
	}
	return len(left) > 0, err
}

// records are what machines are made of.
type records struct {
	machines    []machine.MachineRecord
	unfinished  []machine.InstructionRecord
	garbage     []machine.Garbage
	checkpoints map[machine.ID][]machine.CheckpointRecord
}

func readRecords(ctx context.Context, s *store.Store) (r records, err error) {
	if r.machines, err = s.Machines(ctx); err != nil {
		return r, fmt.Errorf("read the machines: %w", err)
	}
	if r.unfinished, err = s.Unfinished(ctx); err != nil {
		return r, fmt.Errorf("read the instructions: %w", err)
	}
	if r.garbage, err = s.Garbage(ctx); err != nil {
		return r, fmt.Errorf("read what is to be deleted: %w", err)
	}
	r.checkpoints = map[machine.ID][]machine.CheckpointRecord{}
	for i := range r.machines {
		id := r.machines[i].ID
		if r.checkpoints[id], err = s.Checkpoints(ctx, id); err != nil {
			return r, fmt.Errorf("read the checkpoints: %w", err)
		}
	}
	return r, nil
}

// leftMachines are the machines that have a folder, with their checkpoints, oldest first.
func (d *daemon) leftMachines() (map[machine.ID][]checkpoint.Manifest, error) {
	entries, err := os.ReadDir(filepath.Join(d.dirs.Data, "machines"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for machines: %w", err)
	}
	left := map[machine.ID][]checkpoint.Manifest{}
	for _, e := range entries {
		id := machine.ID(e.Name())
		if !e.IsDir() || local.ValidID(id) != nil {
			continue
		}
		folder := local.Checkpoints(filepath.Join(d.dirs.Data, "machines", e.Name()))
		list, all, err := folder.ListAll()
		if err != nil {
			return nil, fmt.Errorf("look for the saved states of machine %s: %w", id, err)
		}
		if len(list) > 0 || !all {
			left[id] = list
		}
	}
	return left, nil
}

// keeps says whether a checkpoint has files or blocks, if only such as cannot be read just now.
func (d *daemon) keeps(id machine.ID, name string) bool {
	folder := local.Checkpoints(filepath.Join(d.dirs.Data, "machines", string(id)))
	for _, path := range []string{folder.Path(name), folder.Recipe(name)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// recovered is how many machines have become what.
type recovered struct{ added, moved, unusable int }

// recoverMachines brings records that may be old, or empty, in line with the checkpoints that there
// are. Every machine is then swapped, and nothing waits to run: what waited then may have run
// since. A checkpoint that is not among what is left stays on record where keeps says so.
func recoverMachines(ctx context.Context, s *store.Store, left map[machine.ID][]checkpoint.Manifest, keeps func(machine.ID, string) bool, engine string) (n recovered, err error) {
	known, err := readRecords(ctx, s)
	if err != nil {
		return n, err
	}
	err = s.WriteSync(ctx, func(w machine.Writer) error {
		deleted := map[machine.ID]bool{}
		for _, g := range known.garbage { // it may be what a machine is made of now
			deleted[g.Machine] = deleted[g.Machine] || g.Checkpoint == ""
			if err := w.RemoveGarbage(g); err != nil {
				return err
			}
		}
		for _, in := range known.unfinished {
			now := time.Now().UTC()
			in.Status, in.EndedAt, in.ResumedAt = machine.StatusError, &now, nil
			in.ErrorName = "MachineStopped"
			in.Error = "MachineStopped: The record of this instruction was lost with the history, so it is not known how it ended. It is not run again automatically."
			if err := w.PutInstruction(in); err != nil {
				return err
			}
		}
		for _, m := range known.machines {
			if err := n.align(w, m, known.checkpoints[m.ID], left[m.ID], keeps, deleted[m.ID], engine); err != nil {
				return err
			}
			delete(left, m.ID)
		}
		for id, list := range left {
			if err := n.add(w, id, list, engine, deleted[id]); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// align brings a machine's record in line with the checkpoints that it has. deleted says that what
// there is of it on this computer was to be deleted, and engine is that of this computer.
func (n *recovered) align(w machine.Writer, m machine.MachineRecord, recorded []machine.CheckpointRecord, there []checkpoint.Manifest, keeps func(machine.ID, string) bool, deleted bool, engine string) error {
	switch {
	case !isElsewhere(m.Engine):
	case len(there) > 0 && !deleted: // it has moved to this computer since these records were copied
		m.Engine = engine
	default: // its saved states are there, too; what became of it is asked before it is used
		m.Live, m.Undo = true, ""
		return w.PutMachine(m)
	}
	on := map[string]machine.CheckpointRecord{}
	for _, c := range recorded {
		on[c.ID] = c
		if !slices.ContainsFunc(there, func(m checkpoint.Manifest) bool { return m.ID == c.ID }) && !keeps(m.ID, c.ID) {
			if err := w.RemoveCheckpoint(c.ID); err != nil {
				return err
			}
		}
	}
	base := newest(there)
	for i := range there {
		if _, ok := on[there[i].ID]; !ok && counts(&there[i], base) {
			if err := w.PutCheckpoint(found(m.ID, &there[i])); err != nil {
				return err
			}
		}
	}
	m.Live, m.Touched, m.Undo = false, false, ""
	switch {
	case base == nil && m.Base == "": // it was never saved
		return w.PutMachine(m)
	case base == nil:
		n.unusable++
		m.Notice = "This machine's saved states are gone or damaged. Its history, as far as it was kept, is here."
		return w.PutMachine(m)
	}
	if _, known := on[base.ID]; !known {
		n.moved++
		m.Notice = "The history of this machine was restored from an older copy. Its Python is as it was last saved, after instruction " +
			fmt.Sprint(base.LastSeq) + "; what is not listed here up to that instruction was run all the same."
		m.NextNotice = m.Notice
	}
	m.Base, m.Fallback = base.ID, base.ID
	if err := w.PutMachine(m); err != nil {
		return err
	}
	if base.LastSeq >= m.NextSeq {
		return w.AddInstruction(lost(m.ID, base))
	}
	if base.LastSeq+1 < m.NextSeq {
		return w.MarkLost(m.ID, append(slices.Clone(on[base.ID].Lost), machine.Span{From: base.LastSeq + 1, To: m.NextSeq - 1}))
	}
	return nil
}

// add puts a machine on record that only its saved states tell of. It goes to the bin where
// an old copy says that it was to be deleted. It may be one that was imported, or that had no
// network, so it has none.
func (n *recovered) add(w machine.Writer, id machine.ID, there []checkpoint.Manifest, engine string, deleted bool) error {
	n.added++
	m := machine.MachineRecord{Machine: machine.Machine{
		ID: id, Name: "recovered-" + string(id), Engine: engine, Image: "base", MemoryMB: machine.DefaultMemoryMB,
		CreatedAt: time.Now().UTC(), LastActiveAt: time.Now().UTC(),
		Network: machine.NetworkPolicy{Mode: machine.NetworkOff},
	}}
	if deleted {
		now := time.Now().UTC()
		m.DeletedAt = &now
	}
	base := newest(there)
	if base == nil {
		n.unusable++
		m.Notice = "This machine was found on the disk, but none of its saved states can be read. A later version may read them."
		return w.PutMachine(m)
	}
	m.CreatedAt, m.LastActiveAt = there[0].CreatedAt, base.CreatedAt
	m.MemoryMB = max(m.MemoryMB, int(2*base.Whole>>20))
	m.Notice = "This machine was found on the disk when the history was lost. Its Python is as it was last saved; its name, its settings and its history are gone. Its network is off until you allow it."
	m.NextNotice = m.Notice
	m.Base, m.Fallback = base.ID, base.ID
	if err := w.PutMachine(m); err != nil {
		return err
	}
	for i := range there {
		if !counts(&there[i], base) {
			continue
		}
		if err := w.PutCheckpoint(found(id, &there[i])); err != nil {
			return err
		}
	}
	if base.LastSeq >= 0 {
		return w.AddInstruction(lost(id, base))
	}
	return nil
}

// newest is the last checkpoint in which nothing ran, or else the last; nil for none.
func newest(list []checkpoint.Manifest) *checkpoint.Manifest {
	for i := range slices.Backward(list) {
		if list[i].RunningSeq == nil {
			return &list[i]
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &list[len(list)-1]
}

// counts says whether a checkpoint that is not on record is put there. One in which an instruction
// runs is not, but for the base: that instruction is not on record either.
func counts(m, base *checkpoint.Manifest) bool { return m.RunningSeq == nil || m.ID == base.ID }

// found is the record of a checkpoint that only its manifest tells of. Somebody may have made it by
// hand, so it is kept.
func found(id machine.ID, m *checkpoint.Manifest) machine.CheckpointRecord {
	return machine.CheckpointRecord{
		Checkpoint: machine.Checkpoint{
			ID: m.ID, Machine: id, Kind: machine.CheckpointManual, Label: "found on the disk", CreatedAt: m.CreatedAt, LastSeq: m.LastSeq, RunningSeq: m.RunningSeq,
			Size: m.Size, Image: m.Image, Runtime: m.Runtime, Pause: m.Pause,
		},
		Clone: m.Life == "", Shrunk: m.Size != m.Whole, Whole: m.Whole,
	}
}

// lost stands for the instructions up to a checkpoint that are not on record. Without it, numbers
// would be given out twice.
func lost(id machine.ID, m *checkpoint.Manifest) machine.InstructionRecord {
	at := m.CreatedAt
	return machine.InstructionRecord{
		Instruction: machine.Instruction{
			Machine: id, Seq: m.LastSeq, Code: "# The record of what ran here is lost. What it did is in the machine.", Status: machine.StatusOK,
			QueuedAt: at, StartedAt: &at, EndedAt: &at,
		},
		Progress: machine.Progress{LastFrame: math.MaxInt32},
	}
}

const (
	// firstBackup is how long after the start the database is first looked at.
	firstBackup = time.Minute
	// backupLook is how often.
	backupLook = 15 * time.Minute
	// keepFree is how much of the disk a copy leaves to the machines, in bytes.
	keepFree = 1 << 30
)

// backUp keeps copies of the database until ctx ends.
func (d *daemon) backUp(ctx context.Context, records *store.Store) {
	for wait := firstBackup; ; wait = backupLook {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		room, err := freeDisk(d.dirs.Data)
		if err != nil {
			room = math.MaxInt64 // it is not known
		}
		if err := records.BackUp(ctx, time.Now(), room-keepFree); ctx.Err() == nil {
			d.notes.looked(d.backedUp(err))
		}
	}
}

// backedUp says in sentences why there is no copy of the database; empty where there is one.
func (d *daemon) backedUp(err error) string {
	if err == nil {
		return ""
	}
	d.log.Error("the database is not copied", "err", err)
	if !store.Damaged(err) {
		return fmt.Sprintf("The history of the machines is not backed up: %v.", err)
	}
	sentence := "The file with the history of the machines, " + d.dirs.DatabaseFile() + ", is damaged, so the disk may be failing. " +
		"Machines go on. To return to its last copy, end ForeverVM, move the file away, and start again."
	if all, err := store.Backups(d.dirs.DatabaseFile()); err == nil && len(all) > 0 {
		sentence += " The last copy is of " + all[0].Made.Local().Format("2 January 2006, 15:04") + "."
	}
	return sentence
}

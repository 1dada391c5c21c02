package service

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
	"github.com/forevervm/desktop/backend/machine/output"
	"github.com/forevervm/desktop/backend/machine/traffic"
)

// entry is one machine in the service. A swapped machine is this much memory, and no goroutine.
//
// It has two locks. op is held while the machine wakes, is saved, rewound or moved: one such
// operation at a time. mu guards the fields and is held for moments. Methods of entry take mu;
// methods of owned need it. Take op before mu.
type entry struct {
	s  *Service
	id machine.ID             // never changes
	at atomic.Pointer[string] // its engine; a move changes it, with op held and out of memory
	op chan struct{}          // a lock that can be waited for with a context: full while held

	owner string // never changes

	wanted atomic.Bool // somebody waits for it to come into memory

	traffic traffic.Traffic // has a lock of its own

	mu      sync.Mutex // taken by lock alone
	guarded guarded
}

// guarded is what is known of a machine at the moment. Only an owned machine has it.
type guarded struct {
	life      life.Life                  // what it is at the moment; on changes it, and nobody else
	rec       machine.MachineRecord      // State and the other live fields inside are not used
	run       *machine.InstructionRecord // of life.Run
	rewindTo  string                     // the checkpoint that a rewind, or a comparison, is under way to, which stays meanwhile
	shrinking bool                       // somebody is about to shrink its checkpoints
	brief     string                     // the checkpoint that the next one replaces; "" for none
	spacedAt  time.Time                  // when the last one was made that stays of work without a pause
	out       output.Layout              // how run's output is kept
	sess      *session                   // the stay in memory; nil when there is none
	stats     *machine.Stats
	disk      *machine.Disk        // as it was when looked at last, also after the machine left memory
	hungry    bool                 // close to its memory limit
	rousing   bool                 // a goroutine is about to bring it into memory
	later     *alarm               // tries again to wake it
	waits     bool                 // it is to come into memory, and there is no room
	short     bool                 // the computer's memory ran short of it: it does not come back on its own until there is some
	tooLarge  *int                 // the instruction that it was stopped in for taking more memory than it may; nil for none
	last      *machine.Instruction // the one that finished last, for those who wait for it; nil when large or old
	recent    []machine.Item       // run's latest items, for those who follow it
	recentSeq int                  // the instruction that recent is of
	changed   chan struct{}        // closed, and replaced, when an instruction got on

	unshared machine.Unshared // why it does not see the folder that is shared with it, as of its last stay in memory
	cameUp   string           // what the person is told of files in that folder that came up or changed
}

// owned is a machine whose lock is held. lock alone makes one, and it is good until unlock. What
// needs the lock is a method of owned, or takes one, so that nothing can be called, read or written
// without.
type owned struct {
	*entry
	*guarded
}

// lock waits for the machine's lock, which is held for moments: for a write to the store at most.
func (e *entry) lock() owned {
	e.mu.Lock()
	return owned{e, &e.guarded}
}

func (o owned) unlock() { o.mu.Unlock() }

func newEntry(s *Service, rec machine.MachineRecord) *entry {
	e := &entry{
		s: s, id: rec.ID, owner: rec.Owner, op: make(chan struct{}, 1),
		guarded: guarded{rec: rec, life: life.New(life.None), changed: make(chan struct{})},
	}
	e.at.Store(&rec.Engine)
	if rec.DeletedAt != nil {
		e.guarded.life = life.NewInBin()
	}
	return e
}

// engine is the name of the engine that the machine is at.
func (e *entry) engine() string { return *e.at.Load() }

// tryOp takes op if nobody has it.
func (e *entry) tryOp() bool {
	select {
	case e.op <- struct{}{}:
		return true
	default:
		return false
	}
}

// lockOp takes op, or gives up with ctx.
func (e *entry) lockOp(ctx context.Context) error {
	if e.tryOp() {
		return nil
	}
	select {
	case e.op <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *entry) unlockOp() { <-e.op }

// under does something with op held and under the service's context: a caller who leaves only stops
// waiting, and leaves nothing half done.
func under[T any](ctx context.Context, e *entry, do func(context.Context) (T, error)) (T, error) {
	var none T
	if err := e.lockOp(ctx); err != nil {
		return none, err
	}
	return underHeld(ctx, e, do)
}

// underHeld is under with op held already; it is released in any case.
func underHeld[T any](ctx context.Context, e *entry, do func(context.Context) (T, error)) (T, error) {
	var none T
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	if !e.s.enter() {
		e.unlockOp()
		return none, machine.Closing()
	}
	go func() {
		defer e.s.group.Done()
		defer e.unlockOp()
		value, err := do(e.s.ctx)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// usable says whether work may be given to the machine.
func (o owned) usable() error {
	switch {
	case o.life.Gone:
		return machine.NoMachine(o.rec.Name)
	case o.life.State == machine.Deleted:
		return machine.InBin(o.rec.Name)
	}
	return nil
}

func (e *entry) inMemory() bool {
	o := e.lock()
	defer o.unlock()
	return o.life.State.InMemory()
}

// awake says whether the machine is in memory, or is about to be.
func (e *entry) awake() bool {
	o := e.lock()
	defer o.unlock()
	return o.life.State.InMemory() || o.rousing
}

// known passes on what was read of the machine, unless it was purged meanwhile.
func known[T any](e *entry, value T, err error) (T, error) {
	o := e.lock()
	defer o.unlock()
	if err == nil && o.life.Gone {
		var none T
		return none, machine.NoMachine(o.rec.Name)
	}
	return value, err
}

func (e *entry) Name() string {
	o := e.lock()
	defer o.unlock()
	return o.rec.Name
}

func (e *entry) log() *slog.Logger { return e.s.log.With("machine", string(e.id)) }

// publish tells the machine as it is now.
func (o owned) publish() {
	m := o.snapshot()
	o.s.hub.Publish(machine.Event{Type: machine.EventMachine, Machine: &m})
}

// publishInstruction tells an instruction as it is now.
func (o owned) publishInstruction(in *machine.Instruction) {
	c := *in
	m := o.snapshot()
	o.s.hub.Publish(machine.Event{Type: machine.EventInstruction, Machine: &m, Seq: in.Seq, Instruction: &c})
}

// tell wakes those who wait for an instruction of this machine.
func (o owned) tell() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// snapshot is the machine as people see it.
func (o owned) snapshot() machine.Machine {
	m := o.rec.Machine
	m.State, m.Paused = o.life.State, o.life.Paused
	m.Tags = maps.Clone(m.Tags)
	if m.Tags == nil {
		m.Tags = map[string]string{}
	}
	if o.run != nil {
		seq := o.run.Seq
		m.RunningSeq = &seq
	}
	m.Queued = len(o.life.Queue)
	if o.stats != nil {
		st := *o.stats
		m.Memory = &st
	}
	if o.disk != nil {
		disk := *o.disk
		m.Disk = &disk
	}
	if m.Shared != nil {
		m.Unshared, m.CameUp = o.unshared.Sentence(), o.cameUp
	}
	if o.waits {
		m.Waits = true
		m.Notice = o.s.memoryOf(o.rec.Engine).waits() // alone, until it comes in: others ask this why it waits
	}
	if m.Notice == "" && o.hungry {
		m.Notice = "This machine is close to its memory limit. Free what is not needed any more, or raise the limit."
	}
	return m
}

// Machine is the machine as people see it.
func (e *entry) Machine() machine.Machine {
	o := e.lock()
	defer o.unlock()
	return o.snapshot()
}

// save writes a changed record of the machine and takes it over when that succeeded.
func (o owned) save(ctx context.Context, change func(*machine.MachineRecord), more ...func(machine.Writer) error) error {
	return o.write(ctx, o.s.store.Write, change, more...)
}

// saveSync is save, surviving a power cut.
func (o owned) saveSync(ctx context.Context, change func(*machine.MachineRecord), more ...func(machine.Writer) error) error {
	return o.write(ctx, o.s.store.WriteSync, change, more...)
}

func (o owned) write(ctx context.Context, write func(context.Context, func(machine.Writer) error) error, change func(*machine.MachineRecord), more ...func(machine.Writer) error) error {
	if o.life.Gone {
		return machine.NoMachine(o.rec.Name) // purged: nothing of it is written again
	}
	rec := o.rec
	change(&rec)
	err := write(ctx, func(w machine.Writer) error {
		for _, m := range more {
			if err := m(w); err != nil {
				return err
			}
		}
		return w.PutMachine(rec)
	})
	if err == nil {
		o.rec = rec
	}
	return err
}

// retry is how long to wait before something that failed is tried again.
const retry = time.Second

// patient runs do until it succeeds or the service ends, waiting between tries: for records that
// must not be lost when the disk is full for a while.
func (s *Service) patient(what string, do func(ctx context.Context) error) error {
	for {
		err := do(s.ctx)
		if err == nil || s.ctx.Err() != nil {
			return err
		}
		s.log.Error("not written, trying again", "what", what, "err", err)
		s.health.failed(err)
		select {
		case <-time.After(retry):
		case <-s.ctx.Done():
			return err
		}
	}
}

package hosted

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

// remote is one machine of the service, a machine.Handle.
type remote struct {
	refused
	s    *session
	name string // at the service

	send chan struct{} // full while something is being sent: the number that it gets is expected

	mu      sync.Mutex // guards what follows
	rec     machine.MachineRecord
	gone    bool                 // the service no longer lists it
	inside  bool                 // it is in memory there
	pending bool                 // something runs or waits there, no matter who sent it
	open    []int                // instructions of ours that are not over, in order
	latest  *machine.Instruction // the one that got on last, as anyone who waits for it is told; nil for none. What it points to stays as it is
	changed chan struct{}        // closed, and replaced, when an instruction got on
}

func newRemote(s *session, rec machine.MachineRecord) *remote {
	return &remote{s: s, name: rec.Name, rec: rec, send: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Name is what the machine is called here: its name at the service, unless a machine of this
// computer has it.
func (r *remote) Name() string {
	if _, err := r.s.m.Service.Find(r.s.ctx, r.name); err == nil {
		return r.name + suffix
	}
	return r.name
}

// suffix tells a hosted machine from one of this computer that has the same name.
const suffix = ".hosted"

func (r *remote) isGone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone
}

func (r *remote) unfinished() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.open)
}

// Machine is the machine as people see it.
func (r *remote) Machine() machine.Machine {
	shown := r.Name()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot(shown)
}

// snapshot is called with mu held.
func (r *remote) snapshot(shown string) machine.Machine {
	m := r.rec.Machine
	m.Name, m.Tags = shown, maps.Clone(m.Tags)
	switch {
	case len(r.open) > 0:
		seq := r.open[0]
		m.State, m.RunningSeq, m.Queued = machine.Running, &seq, len(r.open)-1
	case r.inside && r.pending:
		m.State = machine.Running
	case r.inside:
		m.State = machine.Idle
	default:
		m.State = machine.Swapped
	}
	return m
}

func (r *remote) publish() {
	m := r.Machine()
	r.s.m.Announce(machine.Event{Type: machine.EventMachine, Machine: &m})
}

// tell wakes those who wait for an instruction. mu is held.
func (r *remote) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// heard takes over what the service lists of the machine.
func (r *remote) heard(w wire.Machine) {
	tags := bounded(w.Tags)
	r.mu.Lock()
	same := !r.gone && r.inside == w.Running && r.pending == w.Pending && maps.Equal(r.rec.Tags, tags) && sameTime(r.rec.ExpiresAt, w.ExpiresAt)
	first := r.rec.CreatedAt.IsZero()
	r.gone, r.inside, r.pending, r.rec.Tags, r.rec.ExpiresAt = false, w.Running, w.Pending, tags, w.ExpiresAt
	if first {
		r.rec.CreatedAt = w.CreatedAt.UTC()
	}
	r.mu.Unlock()
	if !same {
		r.publish()
	}
}

func sameTime(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// unlisted takes note that the service no longer has the machine.
func (r *remote) unlisted() {
	shown := r.Name()
	r.mu.Lock()
	// What was made just now may be missing from a list that was begun before.
	gone := !r.gone && time.Since(r.rec.CreatedAt) > time.Minute
	r.gone = r.gone || gone
	r.mu.Unlock()
	if gone {
		r.s.m.Announce(machine.Event{Type: machine.EventPurged, Machine: &machine.Machine{ID: r.rec.ID, Name: shown}})
	}
}

// signedOut refuses what somebody began who has signed out since: nothing more is sent with their
// token.
func (r *remote) signedOut() error {
	if r.s.ctx.Err() == nil {
		return nil
	}
	return &machine.Error{Kind: machine.ErrUnavailable, Message: "Somebody signed out of the hosted service, or ForeverVM is being stopped. Nothing was sent."}
}

// Execute sends code, once.
func (r *remote) Execute(ctx context.Context, opts machine.ExecuteOptions) (machine.Instruction, bool, error) {
	select {
	case r.send <- struct{}{}:
		defer func() { <-r.send }()
	case <-ctx.Done():
		return machine.Instruction{}, false, ctx.Err()
	}
	if err := r.signedOut(); err != nil {
		return machine.Instruction{}, false, err
	}
	// From here on a sender who leaves changes nothing: what the service took must get into the
	// records.
	ctx = context.WithoutCancel(ctx)
	if opts.Key != "" {
		switch seq, err := r.s.records.Keyed(ctx, r.rec.ID, opts.Key); {
		case err == nil:
			in, err := r.s.records.Instruction(ctx, r.rec.ID, seq)
			return in.Instruction, false, err
		case !errors.Is(err, machine.ErrNotFound):
			return machine.Instruction{}, false, err
		}
	}
	r.mu.Lock()
	next := r.rec.NextSeq
	r.mu.Unlock()
	note, err := r.s.noteSending(r.name, opts.Key)
	if err != nil {
		return machine.Instruction{}, false, err
	}
	seconds := opts.Timeout.Seconds()
	if seconds <= 0 {
		seconds = noLimit.Seconds()
	}
	queued := time.Now().UTC()
	taken, err := r.s.wire.Exec(ctx, r.name, wire.Exec{
		Instruction: wire.Instruction{Code: opts.Code, TimeoutSeconds: &seconds}, Interrupt: opts.Interrupt,
	})
	if errors.Is(err, client.ErrDropped) {
		lost := r.s.wire.Unknown(ctx, r.name, next, err)
		r.s.m.config.Logger.Warn("it is not known whether a hosted machine runs what was sent to it", "machine", r.name, "seq", lost.Seq, "exists", lost.Exists, "err", err)
		return machine.Instruction{}, false, explain(lost) // the note stays: under its key it is never sent again
	}
	if err == nil && taken.InstructionSeq < 0 {
		err = fmt.Errorf("%w: it gave an instruction the number %d", client.ErrServer, taken.InstructionSeq)
	}
	if err != nil {
		note.remove()
		return machine.Instruction{}, false, explain(err)
	}
	in := machine.InstructionRecord{Key: opts.Key, Progress: machine.Progress{LastFrame: -1}, Instruction: machine.Instruction{
		Machine: r.rec.ID, Seq: taken.InstructionSeq, Code: opts.Code, Client: opts.Client, Summary: opts.Summary, Timeout: opts.Timeout,
		Status: machine.StatusRunning, QueuedAt: queued, StartedAt: &queued,
	}}
	if missed := in.Seq - next; missed > 0 && next > 0 {
		in.Notice = fmt.Sprintf("Before this, %d steps ran on this machine that are not shown here: they were sent from elsewhere, or from here while a connection broke.", missed)
		if missed == 1 {
			in.Notice = "Before this, a step ran on this machine that is not shown here: it was sent from elsewhere, or from here while a connection broke."
		}
	}
	if err := r.record(ctx, in); err != nil {
		return machine.Instruction{}, false, &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: fmt.Sprintf("It runs at the hosted service as step %d of %s, but could not be recorded here: look there before you send it again.", in.Seq+1, r.name),
			Cause:   err,
		}
	}
	note.remove()
	return in.Instruction, taken.Interrupted, nil
}

// noLimit is the time that an instruction gets which may take as long as it likes: the service has
// no word for that.
const noLimit = 24 * time.Hour

// record puts an instruction that the service has on record, and follows it; send is held. The
// service is asked for what comes of it meanwhile.
func (r *remote) record(ctx context.Context, in machine.InstructionRecord) error {
	r.mu.Lock()
	rec := r.rec
	r.mu.Unlock()
	changed := in.Client != stopper && in.Seq >= rec.NextSeq && rec.UsedBy(in.Instruction)
	begun := &writing{done: make(chan struct{})}
	r.s.spawn(func() { r.follow(in, begun) })
	defer close(begun.done)
	// Without waiting for the disk: a power cut may take the record, which then counts as sent from
	// elsewhere. What it did is the service's.
	begun.err = r.s.records.Write(ctx, func(w machine.Writer) error {
		if changed {
			if err := w.PutMachine(rec); err != nil {
				return err
			}
		}
		return w.AddInstruction(in)
	})
	if begun.err != nil {
		return begun.err
	}
	shown := r.Name()
	r.mu.Lock()
	r.rec.Client, r.rec.DerivedTitle = rec.Client, rec.DerivedTitle
	r.rec.NextSeq = max(r.rec.NextSeq, in.Seq+1)
	r.rec.LastActiveAt = in.QueuedAt
	r.open = append(r.open, in.Seq)
	slices.Sort(r.open)
	r.latest = &in.Instruction
	m := r.snapshot(shown)
	r.tell()
	r.mu.Unlock()
	r.s.m.Announce(machine.Event{Type: machine.EventInstruction, Machine: &m, Seq: in.Seq, Instruction: &in.Instruction})
	r.s.m.Announce(machine.Event{Type: machine.EventMachine, Machine: &m})
	return nil
}

// writing is a record on its way to the disk; nil is one that is there.
type writing struct {
	done chan struct{}
	err  error // set before done is closed
}

func (w *writing) wait() error {
	if w == nil {
		return nil
	}
	<-w.done
	return w.err
}

// adopt puts an instruction on record that was sent from elsewhere, if the service has one of that
// number: somebody asks for it here.
func (r *remote) adopt(ctx context.Context, seq int) error {
	select {
	case r.send <- struct{}{}:
		defer func() { <-r.send }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := r.signedOut(); err != nil {
		return err
	}
	if _, err := r.s.records.Instruction(ctx, r.rec.ID, seq); !errors.Is(err, machine.ErrNotFound) {
		return err
	}
	exists, err := r.s.wire.Exists(ctx, r.name, seq)
	if err != nil {
		return explain(err)
	}
	if !exists {
		return &machine.Error{Kind: machine.ErrNotFound, Message: fmt.Sprintf("%s has no step %d.", r.Name(), seq+1)}
	}
	now := time.Now().UTC()
	return r.record(ctx, machine.InstructionRecord{Progress: machine.Progress{LastFrame: -1}, Instruction: machine.Instruction{
		Machine: r.rec.ID, Seq: seq, Client: machine.Client{Name: "elsewhere"}, Status: machine.StatusRunning, QueuedAt: now, StartedAt: &now,
		Notice: "This was sent from elsewhere, so its code is not known here.",
	}})
}

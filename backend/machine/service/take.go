package service

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/events"
	"github.com/forevervm/desktop/backend/machine/life"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/machine/output"
)

// remembered bounds the finished instruction that is kept for those who wait for it.
const remembered = 1 << 20

// absorb stores a batch of frames, acknowledges them, tells about them and, at a result, goes on
// with the queue. On an error nothing has happened, and the same batch may be tried again.
func (x *session) absorb(batch []machine.Frame) error {
	e := x.e
	o := e.lock()
	defer o.unlock()
	if o.life.Gone || o.sess != x || x.forsaken {
		return nil
	}
	if err := x.hearOfPast(o, batch); err != nil {
		return err
	}
	t := take{o: o, x: x, now: time.Now().UTC()}
	t.read(batch)
	if err := t.store(); err != nil {
		return err
	}
	t.tell()
	return nil
}

// take is the taking in of one batch.
type take struct {
	o   owned
	x   *session
	now time.Time

	run        *machine.InstructionRecord // the running instruction as it will be; nil when none runs
	items      []machine.StoredItem       // its new items
	result     *machine.Result
	out        output.Layout
	background []machine.StoredItem
	staleOver  bool
	acks       []machine.Ack
	late       *lateOutput
}

// read sorts the frames. Those of instructions that are over, and those that are stored already,
// come again after a restart: they are acknowledged and otherwise ignored. Frames of the future are
// forged and ignored.
func (t *take) read(batch []machine.Frame) {
	if t.o.run != nil {
		run := *t.o.run
		run.CarryOut, run.CarryErr = append([]byte(nil), run.CarryOut...), append([]byte(nil), run.CarryErr...)
		t.run = &run
	}
	var fresh []machine.StoredItem
	for i := range batch {
		f := &batch[i]
		switch {
		case f.Type == machine.FrameBackground:
			it := f.Item
			it.Background = true
			if t.run != nil && t.run.LastFrame >= 0 {
				fresh = append(fresh, machine.StoredItem{Item: it, Frame: t.run.LastFrame})
			} else {
				t.background = append(t.background, machine.StoredItem{Item: it, Frame: -1})
			}
		case t.run == nil || f.Seq != t.run.Seq:
			if f.Seq < t.o.rec.NextSeq && f.Seq >= 0 {
				t.ack(f.Seq, f.Index)
			}
			if t.o.life.Stale != life.None && t.o.life.Stale == f.Seq && f.Type == machine.FrameResult {
				t.staleOver = true
			}
		case t.result != nil || f.Index <= t.run.LastFrame:
			t.ack(f.Seq, f.Index)
		default:
			t.run.LastFrame = f.Index
			t.ack(f.Seq, f.Index)
			switch f.Type {
			case machine.FrameItem:
				fresh = append(fresh, machine.StoredItem{Item: f.Item, Frame: f.Index})
			case machine.FrameResult:
				t.result = &f.Result
			}
		}
	}
	if t.run == nil {
		return
	}
	t.items = output.Merge(t.run, fresh, t.o.s.set.Load().Output.Merged(), t.now)
	if t.result != nil {
		t.items = append(t.items, output.Flush(t.run, t.run.LastFrame, t.now)...)
		t.conclude()
	}
}

func (t *take) ack(seq, index int) {
	for i := range t.acks {
		if t.acks[i].Seq == seq {
			t.acks[i].Index = max(t.acks[i].Index, index)
			return
		}
	}
	t.acks = append(t.acks, machine.Ack{Seq: seq, Index: index})
}

// conclude fills the running instruction's record from its result.
func (t *take) conclude() {
	run, res := t.run, t.result
	run.EndedAt, run.Runtime, run.ResumedAt = &t.now, max(0, res.Runtime), nil
	run.Status, run.Value, run.Data = machine.StatusOK, res.Value, res.Data
	if !res.OK {
		run.Status, run.ErrorName, run.Error, run.ErrorANSI = machine.StatusError, naming.Clip(res.ErrorName, machine.MaxErrorName), res.Error, res.ErrorANSI
		run.Value, run.Data = nil, nil
		if run.Error == "" {
			run.Error = run.ErrorName
		}
	}
	if t.o.life.Stop == life.ByTimeout && (!res.OK || res.Runtime >= run.Timeout) {
		trace := run.Error
		run.Status, run.ErrorName, run.Value, run.Data, run.ErrorANSI = machine.StatusError, errNameTimeout, nil, nil, ""
		run.Error = timedOut(run.Timeout)
		if trace != "" {
			run.Error += "\n\n" + trace
		}
	}
	if run.Status == machine.StatusError {
		for _, why := range t.o.traffic.Refused(run.Seq) {
			if !strings.Contains(run.Error, why) {
				run.Notice = naming.Join(run.Notice, why)
			}
		}
	}
	run.Notice = naming.Join(run.Notice, t.o.rec.NextNotice)
	run.Notice = naming.Join(run.Notice, t.o.s.health.unsaved())
	if whose := naming.TypedKey(run.Code); whose != "" {
		run.Notice = naming.Join(run.Notice, typedKey(whose))
	}
	if res.Truncated {
		run.Notice = naming.Join(run.Notice, "Parts of the result were too large to be kept.")
	}
}

func timedOut(limit time.Duration) string {
	return fmt.Sprintf("Timed out after %s s.", strconv.FormatFloat(limit.Seconds(), 'f', -1, 64))
}

// store writes everything in one go.
func (t *take) store() error {
	if t.run == nil || len(t.items) == 0 && t.result == nil && output.SameCarry(&t.run.Progress, &t.o.run.Progress) {
		t.storeLate()
		return nil
	}
	t.out = t.o.out.Clone()
	keep, spill, err := t.o.s.kept.Spread(t.o.s.ctx, t.run, &t.out, t.items, t.o.s.roomForOutput())
	if err != nil {
		return err
	}
	rec := t.o.rec
	told := t.result != nil && (rec.NextNotice != "" || rec.Notice != "")
	if told {
		rec.NextNotice, rec.Notice = "", ""
	}
	search := ""
	if t.result != nil {
		if search, err = t.o.s.kept.SearchText(t.o.s.ctx, t.run, t.items); err != nil {
			t.o.log().Warn("some output is not searchable", "seq", t.run.Seq, "err", err)
		}
	}
	write := t.o.s.store.Write
	if t.result != nil { // what a client is told is not taken back by a power cut
		write = t.o.s.store.WriteSync
	}
	err = write(t.o.s.ctx, func(w machine.Writer) error {
		if spill != nil {
			if err := w.RemoveItems(rec.ID, t.run.Seq, spill.From, spill.To+1); err != nil {
				return err
			}
		}
		if err := w.AddItems(rec.ID, t.run.Seq, keep); err != nil {
			return err
		}
		if err := w.PutInstruction(*t.run); err != nil {
			return err
		}
		if t.result == nil {
			return nil
		}
		if told {
			if err := w.PutMachine(rec); err != nil {
				return err
			}
		}
		return w.Index(t.run.Instruction, search)
	})
	if err != nil {
		return err
	}
	t.o.rec = rec
	t.x.lastCommit = time.Now()
	t.storeLate()
	return nil
}

// tell lets everyone know what was stored, and goes on.
func (t *take) tell() {
	o, x := t.o, t.x
	for _, a := range t.acks {
		x.ack(t.o, a.Seq, a.Index)
	}
	if t.run != nil {
		o.run = t.run
		if len(t.items) > 0 || t.result != nil {
			o.out = t.out
			o.recent, o.recentSeq = output.Plain(t.items), t.run.Seq
		}
		t.tellItems(t.run.Seq, o.recent, len(t.items))
	}
	if t.late != nil {
		if o.last != nil && o.last.Seq == t.late.in.Seq {
			o.remember(&t.late.in.Instruction)
		}
		t.tellItems(t.late.in.Seq, output.Plain(t.late.items), len(t.late.items))
	}
	if t.staleOver {
		x.touch(t.o) // what was saved before holds its middle
		close(x.past)
		x.past = nil
		o.publish()
		x.rest(t.o)
		o.on(life.StaleOver{})
	}
	if t.result == nil {
		if len(t.items) > 0 {
			o.tell()
		}
		return
	}
	done := t.run.Instruction
	o.run = nil
	o.rec.LastActiveAt, o.rec.Failed = t.now, done.Status == machine.StatusError
	o.remember(&done)
	x.limit.stop()
	x.limit = nil
	close(x.over)
	x.over = nil
	x.finish(t.o)
	o.publishInstruction(&done)
	o.tell()
	x.fetch(t.o, done.Code)
	x.lookLater(t.o)
	save := o.dueSave(x) // before the next begins, which would be neither in it nor after it
	o.on(life.Over{Hold: save != nil})
	if save != nil {
		go save()
	}
}

func (t *take) tellItems(seq int, items []machine.Item, n int) {
	if n == 0 {
		return
	}
	m := t.o.snapshot()
	for i := range items {
		t.o.s.hub.Publish(machine.Event{Type: machine.EventItem, Machine: &m, Seq: seq, Item: &items[i]})
	}
}

// ack acknowledges frames, unless a checkpoint is being made.
func (x *session) ack(o owned, seq, index int) {
	if o.life.Holding {
		x.held[seq] = max(x.held[seq], index)
		return
	}
	x.box.Ack(seq, index)
}

// remember keeps the instruction that finished last.
func (o owned) remember(in *machine.Instruction) {
	o.last = nil
	if ev := (machine.Event{Instruction: in}); events.Weight(ev) <= remembered {
		o.last = in
	}
}

// typedKey tells of a key in code, whose service is named.
func typedKey(whose string) string {
	return fmt.Sprintf("This code holds what looks like a key (%s). It is now in the machine, its checkpoints and its backups. "+
		"Better: the person keeps it in ForeverVM's Settings, Keys. Code then finds a placeholder in an environment variable, and the service gets the key.", whose)
}

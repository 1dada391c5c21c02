package hosted

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

// What is kept of one instruction's output; more of it is counted and dropped.
const (
	maxItems  = 5_000
	maxOutput = 8 << 20
	maxMerged = 64 << 10 // of lines that come together, in one item
)

// remote is one machine of the service.
type remote struct {
	s    *session
	name string // at the service

	send chan struct{} // full while something is being sent: the number that it gets is expected

	mu      sync.Mutex // guards what follows
	rec     machine.MachineRecord
	gone    bool          // the service no longer lists it
	inside  bool          // it is in memory there
	pending bool          // something runs or waits there, whoever sent it
	open    []int         // instructions of ours that are not over, in order
	changed chan struct{} // closed, and replaced, when an instruction got on
}

func newRemote(s *session, rec machine.MachineRecord) *remote {
	return &remote{s: s, name: rec.Name, rec: rec, send: make(chan struct{}, 1), changed: make(chan struct{})}
}

// shown is what the machine is called here: its name, unless a machine of this computer has it.
func (r *remote) shown() string {
	if _, err := r.s.m.Service.Get(r.s.ctx, r.name); err == nil {
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

// machine is the machine as people see it.
func (r *remote) machine() machine.Machine {
	shown := r.shown()
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
	m := r.machine()
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
	shown := r.shown()
	r.mu.Lock()
	// What was made just now may be missing from a list that was begun before.
	gone := !r.gone && time.Since(r.rec.CreatedAt) > time.Minute
	r.gone = r.gone || gone
	r.mu.Unlock()
	if gone {
		r.s.m.Announce(machine.Event{Type: machine.EventPurged, Machine: &machine.Machine{ID: r.rec.ID, Name: shown}})
	}
}

// execute sends code, once.
func (r *remote) execute(ctx context.Context, opts machine.ExecuteOptions) (machine.Instruction, bool, error) {
	select {
	case r.send <- struct{}{}:
		defer func() { <-r.send }()
	case <-ctx.Done():
		return machine.Instruction{}, false, ctx.Err()
	}
	// From here on a sender who leaves changes nothing: what the service took must get into the records.
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
		Machine: r.rec.ID, Seq: taken.InstructionSeq, Code: opts.Code, Client: opts.Client, Timeout: opts.Timeout,
		Status: machine.StatusRunning, QueuedAt: queued, StartedAt: &queued,
	}}
	if missed := in.Seq - next; missed > 0 && next > 0 {
		in.Notice = fmt.Sprintf("Before this, %d instructions ran on this machine that were sent from elsewhere, so they are not shown here.", missed)
		if missed == 1 {
			in.Notice = "Before this, an instruction ran on this machine that was sent from elsewhere, so it is not shown here."
		}
	}
	if err := r.record(ctx, in); err != nil {
		return machine.Instruction{}, false, &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: fmt.Sprintf("It runs at the hosted service as instruction %d of %s, but could not be recorded here: look there before you send it again.", in.Seq, r.name),
			Cause:   err,
		}
	}
	note.remove()
	return in.Instruction, taken.Interrupted, nil
}

// noLimit is the time that an instruction gets which may take as long as it likes: the service has no word for that.
const noLimit = 24 * time.Hour

// record puts an instruction that the service has on record, and follows it.
func (r *remote) record(ctx context.Context, in machine.InstructionRecord) error {
	// Without waiting for the disk: a power cut may take the record, which then counts as sent from elsewhere. What it did is the service's.
	if err := r.s.records.Write(ctx, func(w machine.Writer) error { return w.AddInstruction(in) }); err != nil {
		return err
	}
	shown := r.shown()
	r.mu.Lock()
	r.rec.NextSeq = max(r.rec.NextSeq, in.Seq+1)
	r.rec.LastActiveAt = in.QueuedAt
	r.open = append(r.open, in.Seq)
	slices.Sort(r.open)
	m := r.snapshot(shown)
	r.tell()
	r.mu.Unlock()
	r.s.m.Announce(machine.Event{Type: machine.EventInstruction, Machine: &m, Seq: in.Seq, Instruction: &in.Instruction})
	r.s.m.Announce(machine.Event{Type: machine.EventMachine, Machine: &m})
	r.s.spawn(func() { r.follow(in.Seq) })
	return nil
}

// adopt puts an instruction on record that was sent from elsewhere, if the service has one of that number: somebody asks for it here.
func (r *remote) adopt(ctx context.Context, seq int) error {
	select {
	case r.send <- struct{}{}:
		defer func() { <-r.send }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if _, err := r.s.records.Instruction(ctx, r.rec.ID, seq); !errors.Is(err, machine.ErrNotFound) {
		return err
	}
	exists, err := r.s.wire.Exists(ctx, r.name, seq)
	if err != nil {
		return explain(err)
	}
	if !exists {
		return &machine.Error{Kind: machine.ErrNotFound, Message: fmt.Sprintf("%s has no instruction %d.", r.shown(), seq)}
	}
	now := time.Now().UTC()
	return r.record(ctx, machine.InstructionRecord{Progress: machine.Progress{LastFrame: -1}, Instruction: machine.Instruction{
		Machine: r.rec.ID, Seq: seq, Client: machine.Client{Name: "elsewhere"}, Status: machine.StatusRunning, QueuedAt: now, StartedAt: &now,
		Notice: "This was sent from elsewhere, so its code is not known here.",
	}})
}

const (
	followAgain = 200 * time.Millisecond // doubles while the service does not answer
	followMost  = 30 * time.Second
	notThere    = 3 // so often the service must say that there is no such instruction until that is believed
)

// follow records what an instruction puts out and how it ends, for as long as the session lasts; the next one goes on.
func (r *remote) follow(seq int) {
	in, err := r.s.records.Instruction(r.s.ctx, r.rec.ID, seq)
	missing := 0
	for wait := followAgain; err == nil; wait = min(2*wait, followMost) {
		before := in.LastFrame
		var result wire.ExecResult
		if result, err = r.stream(&in); err == nil {
			err = r.finish(in, result)
			break
		}
		if r.s.ctx.Err() != nil {
			return
		}
		if errors.Is(err, errRecords) {
			break
		}
		if in.LastFrame != before {
			wait = followAgain
		}
		if errors.Is(err, client.ErrNotFound) {
			if missing++; missing == notThere {
				text := "The hosted service no longer knows this instruction, so it is not known how it ended."
				err = r.finish(in, wire.ExecResult{Error: &text})
				break
			}
		} else {
			missing = 0
			r.s.m.config.Logger.Debug("an instruction of a hosted machine is followed anew", "machine", r.name, "seq", seq, "err", err)
		}
		err = pause(r.s.ctx, wait)
	}
	if err != nil && r.s.ctx.Err() == nil {
		r.s.m.config.Logger.Error("an instruction of a hosted machine cannot be recorded", "machine", r.name, "seq", seq, "err", err)
	}
}

// errRecords is an error of our own disk, not of the service.
var errRecords = errors.New("the record cannot be written")

// stream records output as it comes, from where the record ends, and returns how the instruction ended. Lines that come together are written together.
func (r *remote) stream(in *machine.InstructionRecord) (result wire.ExecResult, err error) {
	ctx, cancel := context.WithCancel(r.s.ctx)
	defer cancel()
	lines := make(chan wire.Chunk, 256)
	var ended error
	go func() {
		defer close(lines)
		result, ended = r.s.wire.StreamResultFrom(ctx, r.name, in.Seq, in.LastFrame+1, func(c wire.Chunk) error {
			select {
			case lines <- c:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for line := range lines {
		batch := []wire.Chunk{line}
		for more := true; more && len(batch) < cap(lines); {
			select {
			case line, ok := <-lines:
				if more = ok; ok {
					batch = append(batch, line)
				}
			default:
				more = false
			}
		}
		if err == nil {
			if err = r.output(in, batch); err != nil {
				cancel()
			}
		}
	}
	if err != nil {
		return result, fmt.Errorf("%w: %w", errRecords, err)
	}
	return result, ended
}

// output records lines.
func (r *remote) output(in *machine.InstructionRecord, lines []wire.Chunk) error {
	now := time.Now().UTC()
	next := *in
	var items []machine.StoredItem
	for _, line := range lines {
		text := strings.ToValidUTF8(line.Data, "\uFFFD") + "\n"
		stream := "stdout"
		if line.Stream == "stderr" {
			stream = line.Stream
		}
		next.LastFrame = line.Seq
		next.OutputBytes += int64(len(text))
		if next.Items >= maxItems || next.OutputBytes-next.OutputDropped > maxOutput {
			next.OutputDropped += int64(len(text))
			continue
		}
		if n := len(items); n > 0 && items[n-1].Stream == stream && len(items[n-1].Text)+len(text) <= maxMerged {
			items[n-1].Text, items[n-1].Frame = append(items[n-1].Text, text...), line.Seq
			continue
		}
		items = append(items, machine.StoredItem{Frame: line.Seq, Item: machine.Item{
			Index: next.Items, Kind: machine.ItemOutput, At: now, Stream: stream, Text: []byte(text),
		}})
		next.Items++
	}
	next.HeadEnd = next.Items
	err := r.s.records.Write(r.s.ctx, func(w machine.Writer) error {
		if err := w.AddItems(r.rec.ID, next.Seq, items); err != nil {
			return err
		}
		return w.PutInstruction(next)
	})
	if err != nil {
		return err
	}
	*in = next
	shown := r.shown()
	r.mu.Lock()
	m := r.snapshot(shown)
	r.tell()
	r.mu.Unlock()
	for i := range items {
		r.s.m.Announce(machine.Event{Type: machine.EventItem, Machine: &m, Seq: next.Seq, Item: &items[i].Item})
	}
	return nil
}

// finish records how an instruction ended.
func (r *remote) finish(in machine.InstructionRecord, result wire.ExecResult) error {
	now := time.Now().UTC()
	in.EndedAt, in.Status = &now, machine.StatusOK
	in.Runtime = time.Duration(max(0, result.RuntimeMS)) * time.Millisecond
	in.Value, in.Data = result.Value, forms(result.Data)
	if result.Notice != "" {
		in.Notice = strings.TrimSpace(in.Notice + " " + result.Notice)
	}
	if result.Error != nil {
		in.Status, in.Error, in.ErrorName, in.Value = machine.StatusError, *result.Error, errorName(*result.Error), nil
	}
	text, err := r.searchable(in)
	if err == nil {
		err = r.s.records.Write(r.s.ctx, func(w machine.Writer) error {
			if err := w.PutInstruction(in); err != nil {
				return err
			}
			return w.Index(in.Instruction, text)
		})
	}
	shown := r.shown()
	r.mu.Lock()
	r.open = slices.DeleteFunc(r.open, func(seq int) bool { return seq == in.Seq })
	r.rec.LastActiveAt, r.inside, r.pending = now, true, len(r.open) > 0
	m := r.snapshot(shown)
	r.tell()
	r.mu.Unlock()
	r.s.m.Announce(machine.Event{Type: machine.EventInstruction, Machine: &m, Seq: in.Seq, Instruction: &in.Instruction})
	r.s.m.Announce(machine.Event{Type: machine.EventMachine, Machine: &m})
	return err
}

// searchable is the beginning of an instruction's output.
func (r *remote) searchable(in machine.InstructionRecord) (string, error) {
	const enough, page = 64 << 10, 50
	var text strings.Builder
	if in.Items > 0 {
		found, err := r.s.records.Items(r.s.ctx, r.rec.ID, in.Seq, 0, page)
		if err != nil {
			return "", err
		}
		for _, item := range found.Items {
			if text.Len() < enough {
				text.Write(item.Text)
			}
		}
	}
	return text.String(), nil
}

// forms are the rich forms of a value as the domain keeps them.
func forms(data *wire.Data) []machine.Representation {
	if data.Empty() {
		return nil
	}
	var out []machine.Representation
	for _, form := range []machine.Representation{
		{MIME: "image/png", Data: data.PNG},
		{MIME: "image/svg+xml", Data: []byte(data.SVG)},
		{MIME: "text/html", Data: []byte(data.HTML)},
		{MIME: "text/markdown", Data: []byte(data.Markdown)},
		{MIME: "text/latex", Data: []byte(data.LaTeX)},
		{MIME: "application/json", Data: data.JSON},
		{MIME: "application/vnd.plotly.v1+json", Data: data.Plotly},
	} {
		if len(form.Data) > 0 {
			out = append(out, form)
		}
	}
	return out
}

// errorName is the exception's class: what stands before the colon of a traceback's last line.
func errorName(text string) string {
	if strings.Contains(text, "Timed out") {
		return "Timeout"
	}
	last := strings.TrimSpace(text)
	last = last[strings.LastIndexByte(last, '\n')+1:]
	name, _, _ := strings.Cut(last, ":")
	if name == "" || len(name) > 80 || strings.ContainsFunc(name, func(c rune) bool {
		return c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) {
		return "Error"
	}
	return name
}

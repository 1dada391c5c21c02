package hosted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

const (
	followAgain = 200 * time.Millisecond // doubles while the service does not answer
	followMost  = 30 * time.Second
	notThere    = 3 // so often the service must say that there is no such instruction until that is believed
)

// resume follows an instruction of an earlier session.
func (r *remote) resume(seq int) {
	in, err := r.s.records.Instruction(r.s.ctx, r.rec.ID, seq)
	if err != nil {
		r.unrecorded(seq, err)
		return
	}
	r.follow(in, nil)
}

// follow records what an instruction puts out and how it ends, for as long as the session lasts;
// the next one goes on. begun is its own record, before which nothing of it can be written.
func (r *remote) follow(in machine.InstructionRecord, begun *writing) {
	var err error
	missing := 0
	for wait := followAgain; err == nil; wait = min(2*wait, followMost) {
		before := in.LastFrame
		var result wire.ExecResult
		if result, err = r.stream(&in, begun); err == nil {
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
				text := "The hosted service no longer knows this step, so it is not known how it ended."
				err = r.finish(in, wire.ExecResult{Error: &text})
				break
			}
		} else {
			missing = 0
			r.s.m.config.Logger.Debug("an instruction of a hosted machine is followed again", "machine", r.name, "seq", in.Seq, "err", err)
		}
		err = pause(r.s.ctx, wait)
	}
	r.unrecorded(in.Seq, err)
}

// unrecorded logs why an instruction is not followed any more.
func (r *remote) unrecorded(seq int, err error) {
	if err != nil && r.s.ctx.Err() == nil {
		r.s.m.config.Logger.Error("an instruction of a hosted machine cannot be recorded", "machine", r.name, "seq", seq, "err", err)
	}
}

// errRecords is an error of our own disk, not of the service.
var errRecords = errors.New("the record cannot be written")

// stream records output as it comes, from where the record ends, and returns how the instruction
// ended. Lines that come together are written together.
func (r *remote) stream(in *machine.InstructionRecord, begun *writing) (result wire.ExecResult, err error) {
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
	if err = begun.wait(); err != nil {
		cancel()
	}
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
	shown := r.Name()
	r.mu.Lock()
	r.latest = &next.Instruction
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
	// Who waits for it is told at once. Should we be killed before it is written, it stays
	// unfinished on record, and the next daemon asks the service again.
	r.s.settling.RLock()
	defer r.s.settling.RUnlock()
	shown := r.Name()
	r.mu.Lock()
	r.open = slices.DeleteFunc(r.open, func(seq int) bool { return seq == in.Seq })
	r.latest = &in.Instruction
	r.rec.LastActiveAt, r.inside, r.pending = now, true, len(r.open) > 0
	m := r.snapshot(shown)
	r.tell()
	r.mu.Unlock()
	text, err := r.searchable(in)
	if err == nil {
		err = r.s.records.Write(r.s.ctx, func(w machine.Writer) error {
			if err := w.PutInstruction(in); err != nil {
				return err
			}
			return w.Index(in.Instruction, text)
		})
	}
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

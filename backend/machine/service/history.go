package service

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
)

// Instruction returns an instruction as it is now.
func (e *entry) Instruction(ctx context.Context, seq int) (machine.Instruction, error) {
	in, err := e.s.store.Instruction(ctx, e.id, seq)
	if machine.IsNotFound(err) {
		return machine.Instruction{}, machine.NoInstruction(e.Name(), seq)
	}
	return in.Instruction, err
}

// Wait returns the instruction once it is done, or as it is when ctx ends.
func (e *entry) Wait(ctx context.Context, seq int) (machine.Instruction, error) {
	for {
		o := e.lock()
		changed, last, gone := o.changed, o.last, o.life.Gone
		o.unlock()
		if gone {
			return machine.Instruction{}, machine.NoMachine(e.Name())
		}
		if last != nil && last.Seq == seq {
			return *last, nil
		}
		in, err := e.Instruction(ctx, seq)
		if err != nil || in.Status.Done() {
			return in, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return in, ctx.Err()
		case <-e.s.ctx.Done():
			return in, machine.Closing()
		}
	}
}

const (
	defaultInstructions = 50
	maxInstructions     = 500
)

// Instructions returns a page of a machine's history.
func (e *entry) Instructions(ctx context.Context, q machine.InstructionQuery) (machine.Page[machine.Instruction], error) {
	if q.Limit <= 0 {
		q.Limit = defaultInstructions
	}
	q.Limit = min(q.Limit, maxInstructions)
	page, err := e.s.store.Instructions(ctx, e.id, q)
	return known(e, page, err)
}

const (
	defaultPlots = 50
	maxPlots     = 200
)

// Plots returns a page of what a machine's instructions have drawn. What lies in an overflow file
// is not among it.
func (e *entry) Plots(ctx context.Context, q machine.PlotQuery) (machine.Page[machine.Plot], error) {
	if q.Limit <= 0 {
		q.Limit = defaultPlots
	}
	q.Limit = min(q.Limit, maxPlots)
	page, err := e.s.store.Plots(ctx, e.id, q)
	return known(e, page, err)
}

// maxItems bounds a page of items by number; the store bounds it by size.
const maxItems = 1000

// Items returns what is kept of an instruction's output from an index on: beginning, overflow file
// and end as one.
func (e *entry) Items(ctx context.Context, seq, from, limit int) ([]machine.Item, error) {
	if limit <= 0 || limit > maxItems {
		limit = maxItems
	}
	items, _, err := e.items(ctx, seq, max(0, from), limit)
	return items, err
}

// pageBytes bounds what is read of an overflow file at a time.
const pageBytes = 4 << 20

// items reads a page, and the instruction as it was at that moment, without code and data.
func (e *entry) items(ctx context.Context, seq, from, limit int) ([]machine.Item, machine.InstructionRecord, error) {
	page, err := e.s.store.Items(ctx, e.id, seq, from, limit)
	if machine.IsNotFound(err) {
		return nil, page.Record, machine.NoInstruction(e.Name(), seq)
	}
	if err != nil || page.Record.Overflow == 0 {
		return page.Items, page.Record, err
	}
	// The rows may jump from the head to the tail: what is between lies in the file.
	items := page.Items
	for i, want := 0, from; ; i++ {
		if i < len(items) && items[i].Index == want {
			want++
			continue
		}
		if i >= limit || i == len(items) && want < page.Record.HeadEnd {
			return items, page.Record, nil
		}
		end := page.Record.Items
		if i < len(items) {
			end = items[i].Index
		} else if i > 0 && want > page.Record.HeadEnd {
			return items, page.Record, nil // the page ended within the tail
		}
		middle, err := e.middle(page.Record, want, end, limit-i)
		if err != nil {
			return nil, page.Record, err
		}
		complete := len(middle) > 0 && middle[len(middle)-1].Index == end-1
		rest := items[i:]
		items = append(items[:i:i], middle...)
		if complete || len(middle) < limit-i && sumBytes(middle) < pageBytes {
			items = append(items, rest...) // what is missing before rest was dropped
		}
		return items[:min(len(items), limit)], page.Record, nil
	}
}

// middle reads from <= index < end from the overflow file.
func (e *entry) middle(in machine.InstructionRecord, from, end, limit int) ([]machine.Item, error) {
	var items []machine.Item
	bytes := 0
	err := output.ReadFile(output.Path(e.s.outputDir, e.id, in.Seq), in.Overflow, from, func(it machine.Item, _ int64) bool {
		if it.Index >= end || len(items) >= limit || bytes >= pageBytes {
			return false
		}
		items = append(items, it)
		bytes += sumBytes(items[len(items)-1:])
		return true
	})
	return items, err
}

func sumBytes(items []machine.Item) int {
	var sum output.Size
	for i := range items {
		sum = sum.Plus(output.SizeOf(&items[i]))
	}
	return int(sum.Text + sum.Display)
}

// Follow yields items from an index on until the instruction is done.
func (e *entry) Follow(ctx context.Context, seq, from int, yield func(machine.Item) error) (machine.Instruction, error) {
	next := max(0, from)
	for {
		o := e.lock()
		changed, gone := o.changed, o.life.Gone
		recent := o.recentFrom(seq, next)
		there, done := o.itemsSoFar(seq)
		o.unlock()
		if gone {
			return machine.Instruction{}, machine.NoMachine(e.Name())
		}
		if recent == nil && next < there {
			var rec machine.InstructionRecord
			var err error
			if recent, rec, err = e.items(ctx, seq, next, maxItems); err != nil {
				return machine.Instruction{}, err
			}
			done = rec.Status.Done()
		}
		for i := range recent {
			if err := yield(recent[i]); err != nil {
				return machine.Instruction{}, err
			}
			next = recent[i].Index + 1
		}
		if len(recent) > 0 {
			continue
		}
		if done {
			return e.Wait(ctx, seq)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return machine.Instruction{}, ctx.Err()
		case <-e.s.ctx.Done():
			return machine.Instruction{}, machine.Closing()
		}
	}
}

// recentFrom is the rest of the latest items, where they begin no later than wanted.
func (o owned) recentFrom(seq, next int) []machine.Item {
	if o.recentSeq != seq || len(o.recent) == 0 || o.recent[0].Index > next {
		return nil
	}
	at := next - o.recent[0].Index
	if at >= len(o.recent) {
		return nil
	}
	return o.recent[at:]
}

// itemsSoFar is how many items the running instruction has, or the one that finished last, and
// whether it is done. Only the store knows of others: of these there may be any number.
func (o owned) itemsSoFar(seq int) (items int, done bool) {
	switch {
	case o.run != nil && o.run.Seq == seq:
		return o.run.Items, false
	case o.last != nil && o.last.Seq == seq:
		return o.last.Items, true
	default:
		return math.MaxInt, false
	}
}

// Output returns all that is kept of an instruction's text, as it is now.
func (e *entry) Output(ctx context.Context, seq int) (machine.OutputReader, error) {
	_, rec, err := e.items(ctx, seq, 0, 1)
	if err != nil {
		return nil, err
	}
	return &outputReader{ctx: ctx, e: e, seq: seq, end: rec.Items, size: rec.OutputBytes - rec.OutputDropped}, nil
}

// outputReader reads items page by page. It ends at the item that was the last when it was opened.
type outputReader struct {
	ctx    context.Context
	e      *entry
	seq    int
	next   int
	end    int
	size   int64
	pages  []machine.Item
	text   []byte
	closed bool
}

func (r *outputReader) Size() int64 { return r.size }

func (r *outputReader) Close() error {
	r.closed, r.pages, r.text = true, nil, nil
	return nil
}

func (r *outputReader) Read(p []byte) (int, error) {
	if r.closed {
		return 0, errors.New("the output was closed")
	}
	for len(r.text) == 0 {
		if len(r.pages) == 0 {
			if r.next >= r.end {
				return 0, io.EOF
			}
			items, _, err := r.e.items(r.ctx, r.seq, r.next, maxItems)
			if err != nil {
				return 0, err
			}
			if len(items) == 0 {
				return 0, io.EOF
			}
			r.pages = items
		}
		it := r.pages[0]
		r.pages = r.pages[1:]
		r.next = it.Index + 1
		if it.Index >= r.end {
			return 0, io.EOF
		}
		r.text = it.Text
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	return n, nil
}

// Search looks in code, output and results of all machines outside the bin, or of one.
func (s *Service) Search(ctx context.Context, q machine.SearchQuery) (machine.Page[machine.SearchHit], error) {
	var id machine.ID
	if q.Machine != "" {
		e, err := s.find(q.Machine)
		if err != nil {
			return machine.Page[machine.SearchHit]{}, err
		}
		id = e.id
	}
	if q.Limit <= 0 {
		q.Limit = defaultInstructions
	}
	q.Limit = min(q.Limit, maxInstructions)
	return s.store.Search(ctx, q, id)
}

package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	// MaxItems bounds a page of items by number; the store bounds it by size.
	MaxItems = 1000
	// Searchable is how many bytes of an instruction's output can be found by searching.
	Searchable = 64 << 10

	pageBytes = 4 << 20 // read of an overflow file at a time
)

// Rows are the items that the store has.
type Rows interface {
	// Items is described in machine.Store.
	Items(ctx context.Context, id machine.ID, seq, from, limit int) (machine.ItemPage, error)
}

// Kept is the output of all machines: the rows of the store, and the overflow files in Dir.
type Kept struct {
	Rows Rows
	Dir  string
	Log  *slog.Logger
}

// Items returns at most limit items from an index on: beginning, overflow file and end as one. The
// record is the instruction at that moment, without code and data.
func (k Kept) Items(ctx context.Context, id machine.ID, seq, from, limit int) ([]machine.Item, machine.InstructionRecord, error) {
	page, err := k.Rows.Items(ctx, id, seq, from, limit)
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
		middle, err := k.middle(id, page.Record, want, end, limit-i)
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
func (k Kept) middle(id machine.ID, in machine.InstructionRecord, from, end, limit int) ([]machine.Item, error) {
	var items []machine.Item
	bytes := 0
	err := ReadFile(Path(k.Dir, id, in.Seq), in.Overflow, from, func(it machine.Item, _ int64) bool {
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
	var sum Size
	for i := range items {
		sum = sum.Plus(SizeOf(&items[i]))
	}
	return int(sum.Text + sum.Display)
}

// Each calls yield with each item of an instruction that is over.
func (k Kept) Each(ctx context.Context, id machine.ID, seq int, yield func(machine.Item) error) error {
	for from := 0; ; {
		items, _, err := k.Items(ctx, id, seq, from, MaxItems)
		if err != nil || len(items) == 0 {
			return err
		}
		for _, it := range items {
			if err := yield(it); err != nil {
				return err
			}
			from = it.Index + 1
		}
	}
}

// Text reads all text of an instruction, up to the item that is the last one now.
func (k Kept) Text(ctx context.Context, id machine.ID, seq int) (machine.OutputReader, error) {
	_, rec, err := k.Items(ctx, id, seq, 0, 1)
	if err != nil {
		return nil, err
	}
	return &textReader{ctx: ctx, kept: k, id: id, seq: seq, end: rec.Items, size: rec.OutputBytes - rec.OutputDropped}, nil
}

// textReader reads page by page.
type textReader struct {
	ctx    context.Context
	kept   Kept
	id     machine.ID
	seq    int
	next   int
	end    int
	size   int64
	page   []machine.Item
	text   []byte
	closed bool
}

func (r *textReader) Size() int64 { return r.size }

func (r *textReader) Close() error {
	r.closed, r.page, r.text = true, nil, nil
	return nil
}

func (r *textReader) Read(p []byte) (int, error) {
	if r.closed {
		return 0, errors.New("the output was closed")
	}
	for len(r.text) == 0 {
		if len(r.page) == 0 {
			if r.next >= r.end {
				return 0, io.EOF
			}
			items, _, err := r.kept.Items(r.ctx, r.id, r.seq, r.next, MaxItems)
			if err != nil {
				return 0, err
			}
			if len(items) == 0 {
				return 0, io.EOF
			}
			r.page = items
		}
		it := r.page[0]
		r.page = r.page[1:]
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

// SearchText returns the first Searchable bytes of an instruction's text: first the stored items,
// then the fresh ones. With an error it returns the part that it could read.
func (k Kept) SearchText(ctx context.Context, in *machine.InstructionRecord, fresh []machine.StoredItem) (string, error) {
	var text []byte
	add := func(it *machine.Item) {
		if it.Kind == machine.ItemOutput {
			text = append(text, it.Text[:min(len(it.Text), Searchable-len(text))]...)
		}
	}
	end := in.Items
	if len(fresh) > 0 {
		end = fresh[0].Index
	}
	var failed error
	for from := 0; from < end && len(text) < Searchable; {
		page, err := k.Rows.Items(ctx, in.Machine, in.Seq, from, 32)
		if err != nil || len(page.Items) == 0 {
			failed = err
			break
		}
		for i := range page.Items {
			add(&page.Items[i])
			from = page.Items[i].Index + 1
		}
	}
	for i := range fresh {
		add(&fresh[i].Item)
	}
	return string(text), failed
}

// Spread decides which of the new items are stored as rows, and moves what has to leave to the
// overflow file, which may have max bytes. It advances in's counters and out. span, when not nil,
// are the stored rows to remove.
func (k Kept) Spread(ctx context.Context, in *machine.InstructionRecord, out *Layout, items []machine.StoredItem, max int64) (keep []machine.StoredItem, span *machine.Span, err error) {
	if len(items) == 0 {
		return nil, nil, nil
	}
	evicted := out.Place(in, items)
	if len(evicted) == 0 {
		return items, nil, nil
	}
	span = &machine.Span{From: evicted[0].Index, To: evicted[len(evicted)-1].Index}
	first := items[0].Index
	var leaving []machine.Item
	for from := span.From; from <= span.To && from < first; {
		page, err := k.Rows.Items(ctx, in.Machine, in.Seq, from, span.To-from+1)
		if err != nil {
			return nil, nil, err
		}
		for _, it := range page.Items {
			if it.Index <= span.To && it.Index < first {
				leaving = append(leaving, it)
			}
			from = it.Index + 1
		}
		if len(page.Items) == 0 {
			return nil, nil, fmt.Errorf("item %d of instruction %d is missing", from, in.Seq)
		}
	}
	for _, it := range items {
		switch {
		case it.Index <= span.To && it.Index >= span.From:
			leaving = append(leaving, it.Item)
		default:
			keep = append(keep, it)
		}
	}
	k.Spill(in, leaving, max)
	return keep, span, nil
}

// Spill appends items to the overflow file, which may have max bytes. What does not fit, or cannot
// be written, is dropped and counted.
func (k Kept) Spill(in *machine.InstructionRecord, items []machine.Item, max int64) {
	var records []byte
	fit := 0
	for _, it := range items {
		longer, err := AppendRecord(records, it)
		if err != nil || in.Overflow+int64(len(longer)) > max {
			break
		}
		records = longer
		fit++
	}
	if fit > 0 {
		if err := WriteFile(Path(k.Dir, in.Machine, in.Seq), in.Overflow, records); err != nil {
			k.Log.Warn("the middle of an output is dropped", "machine", in.Machine, "seq", in.Seq, "err", err)
			fit = 0
		} else {
			in.Overflow += int64(len(records))
		}
	}
	for i := range items[fit:] {
		lost := SizeOf(&items[fit+i])
		in.OutputBytes += lost.Display // displays count where they are missed
		in.OutputDropped += lost.Text + lost.Display
	}
}

// Plain is the items as they are shown.
func Plain(items []machine.StoredItem) []machine.Item {
	out := make([]machine.Item, len(items))
	for i := range items {
		out[i] = items[i].Item
	}
	return out
}

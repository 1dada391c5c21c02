// Package output decides what is kept of an instruction's output and where: head and tail in the
// store, the middle in a file of its own.
package output

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
)

// Limits bound what is kept of one instruction's output. The first Head bytes and the last Tail
// bytes of text stay as items in the store, what is between goes to a file of at most File bytes,
// and what does not fit there is dropped and counted. Displays (figures, tables) count apart, as
// Displays bytes for head and tail each.
type Limits struct {
	Head, Tail int64
	Displays   int64
	Items      int // how many items head and tail may have each
	File       int64
}

// Merged is how long a merged item gets: short enough for head and tail to be filled well.
func (l *Limits) Merged() int { return int(min(128<<10, l.Head/4, l.Tail/4)) }

// Size is what an item weighs: text or displays.
type Size struct{ Text, Display int64 }

// SizeOf is what an item weighs.
func SizeOf(it *machine.Item) Size {
	s := Size{Text: int64(len(it.Text))}
	for _, r := range it.Representations {
		s.Display += int64(len(r.Data))
	}
	return s
}

// Plus is the sum of two sizes.
func (s Size) Plus(o Size) Size  { return Size{s.Text + o.Text, s.Display + o.Display} }
func (s Size) minus(o Size) Size { return Size{s.Text - o.Text, s.Display - o.Display} }

// tailEntry is an item in the store that may be evicted.
type tailEntry struct {
	Index int
	size  Size
}

// Layout follows how the running instruction's items are spread over head, overflow file and tail.
type Layout struct {
	Limits  Limits
	head    Size
	tail    []tailEntry
	tailSum Size
}

// Clone gives a copy that a failed write can be undone with.
func (o Layout) Clone() Layout {
	o.tail = append([]tailEntry(nil), o.tail...)
	return o
}

// Load rebuilds the figures from stored items, after a restart.
func (o *Layout) Load(items []machine.Item, headEnd int) {
	for i := range items {
		if items[i].Index < headEnd {
			o.head = o.head.Plus(SizeOf(&items[i]))
		} else {
			o.push(&items[i])
		}
	}
}

func (o *Layout) push(it *machine.Item) {
	s := SizeOf(it)
	o.tail = append(o.tail, tailEntry{it.Index, s})
	o.tailSum = o.tailSum.Plus(s)
}

// Place decides where new items go. It advances in's counters, and returns how many items at the
// front of the tail have to leave the store (they may be among the new ones).
func (o *Layout) Place(in *machine.InstructionRecord, items []machine.StoredItem) (evict []tailEntry) {
	for i := range items {
		it := &items[i].Item
		s := SizeOf(it)
		head := o.head.Plus(s)
		if in.HeadEnd == it.Index && it.Index < o.Limits.Items && head.Text <= o.Limits.Head && head.Display <= o.Limits.Displays {
			o.head = head
			in.HeadEnd++
			continue
		}
		o.push(it)
	}
	// Evicting only at twice the limit makes it happen in large pieces.
	if o.tailSum.Text <= 2*o.Limits.Tail && o.tailSum.Display <= 2*o.Limits.Displays && len(o.tail) <= 2*o.Limits.Items {
		return nil
	}
	n := 0
	for n < len(o.tail)-1 && (o.tailSum.Text > o.Limits.Tail || o.tailSum.Display > o.Limits.Displays || len(o.tail)-n > o.Limits.Items) {
		o.tailSum = o.tailSum.minus(o.tail[n].size)
		n++
	}
	evict = o.tail[:n:n]
	o.tail = append([]tailEntry(nil), o.tail[n:]...)
	return evict
}

// Merge turns frames' items into items with indexes of their own. Adjacent output of one stream
// becomes one item, up to a length, and no item ends in the middle of a character: its beginning is
// carried over in the record to the next.
func Merge(in *machine.InstructionRecord, items []machine.StoredItem, longest int, now time.Time) []machine.StoredItem {
	var out []machine.StoredItem
	for _, it := range items {
		it.At = now
		if it.Kind == machine.ItemOutput {
			if n := len(out); n > 0 && joins(&out[n-1], it, longest) {
				out[n-1].Text = append(out[n-1].Text, it.Text...)
				out[n-1].Frame = it.Frame
				continue
			}
			it.Text = append([]byte(nil), it.Text...)
		}
		out = append(out, it)
	}
	kept := out[:0]
	for _, it := range out {
		if it.Kind == machine.ItemOutput && !it.Background {
			carry := carried(&in.Progress, it.Stream)
			text := append(*carry, it.Text...)
			cut := completeUTF8(text)
			it.Text, *carry = text[:cut:cut], append([]byte(nil), text[cut:]...)
			if cut == 0 {
				continue
			}
		}
		kept = append(kept, it)
	}
	for i := range kept {
		kept[i].Index = in.Items
		in.Items++
		in.OutputBytes += int64(len(kept[i].Text))
	}
	return kept
}

// Flush turns carried beginnings of characters into items, as nothing will complete them.
func Flush(in *machine.InstructionRecord, frame int, now time.Time) []machine.StoredItem {
	var out []machine.StoredItem
	for _, stream := range []string{"stdout", "stderr"} {
		carry := carried(&in.Progress, stream)
		if len(*carry) == 0 {
			continue
		}
		out = append(out, machine.StoredItem{Item: machine.Item{Index: in.Items, Kind: machine.ItemOutput, At: now, Stream: stream, Text: *carry}, Frame: frame})
		in.Items++
		in.OutputBytes += int64(len(*carry))
		*carry = nil
	}
	return out
}

func joins(s *machine.StoredItem, next machine.StoredItem, longest int) bool {
	return s.Kind == machine.ItemOutput && s.Stream == next.Stream && s.Background == next.Background && len(s.Text)+len(next.Text) <= longest
}

func carried(p *machine.Progress, stream string) *[]byte {
	if stream == "stderr" {
		return &p.CarryErr
	}
	return &p.CarryOut
}

// SameCarry says whether p and o carry the same beginnings of characters.
func SameCarry(p, o *machine.Progress) bool {
	return bytes.Equal(p.CarryOut, o.CarryOut) && bytes.Equal(p.CarryErr, o.CarryErr)
}

// completeUTF8 is the length of text without an unfinished character at its end; bytes that no
// continuation could make valid count as finished.
func completeUTF8(text []byte) int {
	for back := 1; back <= min(3, len(text)); back++ {
		i := len(text) - back
		if utf8.RuneStart(text[i]) {
			if text[i] >= utf8.RuneSelf && !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}

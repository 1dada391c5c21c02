package machine

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// OutputLimits bound what is kept of one instruction's output. The first Head bytes and the last Tail bytes of text
// stay as items in the store, what is between goes to a file of at most File bytes, and what does not fit there is
// dropped and counted. Displays (figures, tables) count apart, as Displays bytes for head and tail each.
type OutputLimits struct {
	Head, Tail int64
	Displays   int64
	Items      int // how many items head and tail may have each
	File       int64
}

// merged is how long a merged item gets: short enough for head and tail to be filled well.
func (l *OutputLimits) merged() int { return int(min(128<<10, l.Head/4, l.Tail/4)) }

// size is what an item weighs: text or displays.
type size struct{ text, display int64 }

func sizeOf(it *Item) size {
	s := size{text: int64(len(it.Text))}
	for _, r := range it.Representations {
		s.display += int64(len(r.Data))
	}
	return s
}

func (s size) plus(o size) size  { return size{s.text + o.text, s.display + o.display} }
func (s size) minus(o size) size { return size{s.text - o.text, s.display - o.display} }

// tailEntry is an item in the store that may be evicted.
type tailEntry struct {
	index int
	size  size
}

// output follows how the running instruction's items are spread over head, overflow file and tail.
type output struct {
	limits  OutputLimits
	head    size
	tail    []tailEntry
	tailSum size
}

// clone gives a copy that a failed write can be undone with.
func (o output) clone() output {
	o.tail = append([]tailEntry(nil), o.tail...)
	return o
}

// load rebuilds the figures from stored items, after a restart.
func (o *output) load(items []Item, headEnd int) {
	for i := range items {
		if items[i].Index < headEnd {
			o.head = o.head.plus(sizeOf(&items[i]))
		} else {
			o.push(&items[i])
		}
	}
}

func (o *output) push(it *Item) {
	s := sizeOf(it)
	o.tail = append(o.tail, tailEntry{it.Index, s})
	o.tailSum = o.tailSum.plus(s)
}

// place decides where new items go. It advances in's counters, and returns how many items at the front of the tail
// have to leave the store (they may be among the new ones).
func (o *output) place(in *InstructionRecord, items []StoredItem) (evict []tailEntry) {
	for i := range items {
		it := &items[i].Item
		s := sizeOf(it)
		head := o.head.plus(s)
		if in.HeadEnd == it.Index && it.Index < o.limits.Items && head.text <= o.limits.Head && head.display <= o.limits.Displays {
			o.head = head
			in.HeadEnd++
			continue
		}
		o.push(it)
	}
	// Evicting only at twice the limit makes it happen in large pieces.
	if o.tailSum.text <= 2*o.limits.Tail && o.tailSum.display <= 2*o.limits.Displays && len(o.tail) <= 2*o.limits.Items {
		return nil
	}
	n := 0
	for n < len(o.tail)-1 && (o.tailSum.text > o.limits.Tail || o.tailSum.display > o.limits.Displays || len(o.tail)-n > o.limits.Items) {
		o.tailSum = o.tailSum.minus(o.tail[n].size)
		n++
	}
	evict = o.tail[:n:n]
	o.tail = append([]tailEntry(nil), o.tail[n:]...)
	return evict
}

// merge turns frames' items into items with indexes of their own. Adjacent output of one stream becomes one item, up to a
// length, and no item ends in the middle of a character: its beginning is carried over in the record to the next.
func merge(in *InstructionRecord, items []StoredItem, longest int, now time.Time) []StoredItem {
	var out []StoredItem
	for _, it := range items {
		it.At = now
		if it.Kind == ItemOutput {
			if n := len(out); n > 0 && out[n-1].joins(it, longest) {
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
		if it.Kind == ItemOutput && !it.Background {
			carry := in.carry(it.Stream)
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

// flush turns carried beginnings of characters into items, as nothing will complete them.
func flush(in *InstructionRecord, frame int, now time.Time) []StoredItem {
	var out []StoredItem
	for _, stream := range []string{"stdout", "stderr"} {
		carry := in.carry(stream)
		if len(*carry) == 0 {
			continue
		}
		out = append(out, StoredItem{Item{Index: in.Items, Kind: ItemOutput, At: now, Stream: stream, Text: *carry}, frame})
		in.Items++
		in.OutputBytes += int64(len(*carry))
		*carry = nil
	}
	return out
}

func (s *StoredItem) joins(next StoredItem, longest int) bool {
	return s.Kind == ItemOutput && s.Stream == next.Stream && s.Background == next.Background && len(s.Text)+len(next.Text) <= longest
}

func (p *Progress) carry(stream string) *[]byte {
	if stream == "stderr" {
		return &p.CarryErr
	}
	return &p.CarryOut
}

// carries says whether the same beginnings of characters are carried as in o.
func (p *Progress) carries(o *Progress) bool {
	return bytes.Equal(p.CarryOut, o.CarryOut) && bytes.Equal(p.CarryErr, o.CarryErr)
}

// completeUTF8 is the length of text without an unfinished character at its end; bytes that no continuation could make
// valid count as finished.
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

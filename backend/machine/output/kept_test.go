package output

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// rows keeps the items of one instruction.
type rows struct {
	rec   machine.InstructionRecord
	items []machine.Item
}

func (r *rows) Items(_ context.Context, _ machine.ID, _, from, limit int) (machine.ItemPage, error) {
	page := machine.ItemPage{Record: r.rec}
	for _, it := range r.items {
		if it.Index >= from && len(page.Items) < limit {
			page.Items = append(page.Items, it)
		}
	}
	return page, nil
}

// add stores lines of ten bytes, one at a time, as a running instruction does.
func (r *rows) add(t *testing.T, k Kept, out *Layout, lines, file int) {
	t.Helper()
	for range lines {
		it := machine.Item{Index: r.rec.Items, Kind: machine.ItemOutput, Stream: "stdout", Text: []byte(strings.Repeat("x", 9) + "\n")}
		r.rec.Items++
		r.rec.OutputBytes += int64(len(it.Text))
		keep, span, err := k.Spread(t.Context(), &r.rec, out, []machine.StoredItem{{Item: it}}, int64(file))
		if err != nil {
			t.Fatal(err)
		}
		if span != nil {
			r.items = slices.DeleteFunc(r.items, func(it machine.Item) bool { return span.From <= it.Index && it.Index <= span.To })
		}
		r.items = append(r.items, Plain(keep)...)
	}
}

// A long output comes back whole, from whatever place one begins to read, a page at a time or all.
func TestKept(t *testing.T) {
	const lines = 100
	r := &rows{rec: machine.InstructionRecord{Instruction: machine.Instruction{Machine: "m", Seq: 3}}}
	k := Kept{Rows: r, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	out := Layout{Limits: Limits{Head: 50, Tail: 50, Items: 1000}}
	r.add(t, k, &out, lines, 1<<20)
	if len(r.items) > lines/2 || r.rec.Overflow == 0 || r.rec.OutputDropped != 0 {
		t.Fatalf("%d rows, %d bytes in the file, %d dropped", len(r.items), r.rec.Overflow, r.rec.OutputDropped)
	}
	for _, limit := range []int{1, 7, MaxItems} {
		for _, from := range []int{0, 3, 50, 97} {
			next := from
			for next < lines {
				items, _, err := k.Items(t.Context(), "m", 3, next, limit)
				if err != nil || len(items) == 0 || len(items) > limit {
					t.Fatalf("from %d: %d items, %v", next, len(items), err)
				}
				for _, it := range items {
					if it.Index != next {
						t.Fatalf("item %d, not %d, from %d by %d", it.Index, next, from, limit)
					}
					next++
				}
			}
		}
	}
	text, err := k.Text(t.Context(), "m", 3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(text)
	if err != nil || len(b) != 10*lines || text.Size() != 10*lines {
		t.Errorf("%d bytes of %d, %v", len(b), text.Size(), err)
	}
	n := 0
	if err := k.Each(t.Context(), "m", 3, func(machine.Item) error { n++; return nil }); err != nil || n != lines {
		t.Errorf("%d items, %v", n, err)
	}
	stop := errors.New("stop")
	if err := k.Each(t.Context(), "m", 3, func(machine.Item) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// What has no room in the file is counted, and the end is there all the same.
func TestKeptWithoutRoom(t *testing.T) {
	r := &rows{rec: machine.InstructionRecord{Instruction: machine.Instruction{Machine: "m", Seq: 3}}}
	k := Kept{Rows: r, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	out := Layout{Limits: Limits{Head: 50, Tail: 50, Items: 1000}}
	r.add(t, k, &out, 100, 0)
	items, rec, err := k.Items(t.Context(), "m", 3, 0, MaxItems)
	if err != nil || rec.Overflow != 0 || rec.OutputDropped != int64(1000-10*len(items)) {
		t.Errorf("%d items, %d bytes in the file, %d dropped, %v", len(items), rec.Overflow, rec.OutputDropped, err)
	}
	if items[0].Index != 0 || items[len(items)-1].Index != 99 {
		t.Errorf("from %d to %d", items[0].Index, items[len(items)-1].Index)
	}
	if text, err := k.SearchText(t.Context(), &r.rec, nil); err != nil || len(text) != 10*len(items) {
		t.Errorf("%d bytes to search, %v", len(text), err)
	}
}

package store

import (
	"context"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	flagBackground = 1 << iota
	flagUpdate
	flagWait
)

// Items returns stored items from an index on, and the instruction as it was at that moment.
func (s *Store) Items(ctx context.Context, id machine.ID, seq, from, limit int) (machine.ItemPage, error) {
	var page machine.ItemPage
	bytes := 0
	// One statement sees one state of the database: the instruction is joined to its items, and
	// comes alone when there are none.
	err := s.each(ctx, "SELECT "+instructionHead+instructionBare+`, idx, kind, at, stream, flags, display_id, i.forms, i.data
		FROM instructions n LEFT JOIN items i ON i.instruction = n.id AND idx >= ?
		WHERE machine = ? AND seq = ? ORDER BY idx`+limited, []any{from, id, seq, limit},
		func(r scanner) (bool, error) {
			var it itemRow
			rec, err := scanInstruction(withMore{r, it.dest()})
			if err != nil {
				return false, err
			}
			page.Record = rec
			if it.index == nil {
				return false, nil
			}
			item, err := it.item()
			if err != nil {
				return false, err
			}
			page.Items = append(page.Items, item)
			bytes += len(it.data)
			return bytes < pageBytes, nil
		})
	if err == nil && page.Record.Machine == "" {
		err = machine.ErrNotFound
	}
	return page, err
}

// withMore scans more columns after those that are asked for.
type withMore struct {
	scanner
	more []any
}

func (w withMore) Scan(dest ...any) error { return w.scanner.Scan(append(dest, w.more...)...) }

// itemRow is an item's columns; all NULL when there is none.
type itemRow struct {
	index            *int
	kind, stream     *string
	at               *int64
	flags            *int
	displayID, forms *string
	data             []byte
}

func (it *itemRow) dest() []any {
	return []any{&it.index, &it.kind, &it.at, &it.stream, &it.flags, &it.displayID, &it.forms, &it.data}
}

func (it *itemRow) item() (machine.Item, error) {
	item := machine.Item{
		Index: *it.index, Kind: machine.ItemKind(*it.kind), At: fromNano(*it.at), Stream: *it.stream, DisplayID: *it.displayID,
		Background: *it.flags&flagBackground != 0, Update: *it.flags&flagUpdate != 0, Wait: *it.flags&flagWait != 0,
	}
	if item.Kind == machine.ItemOutput {
		item.Text = it.data
		return item, nil
	}
	var err error
	item.Representations, err = unpack(*it.forms, it.data)
	return item, err
}

// AddItems adds items to an instruction.
func (w writer) AddItems(id machine.ID, seq int, items []machine.StoredItem) error {
	for i := range items {
		it := &items[i]
		forms, data, err := pack(it.Representations)
		if err != nil {
			return err
		}
		if it.Kind == machine.ItemOutput {
			data = it.Text
		}
		flags := 0
		for flag, set := range map[int]bool{flagBackground: it.Background, flagUpdate: it.Update, flagWait: it.Wait} {
			if set {
				flags |= flag
			}
		}
		err = w.s.exec(`INSERT INTO items (instruction, idx, frame, kind, at, stream, flags, display_id, forms, data)
			VALUES ((SELECT id FROM instructions WHERE machine = ? AND seq = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, seq, it.Index, it.Frame, it.Kind, nano(it.At), it.Stream, flags, it.DisplayID, forms, blob(data))
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveItems removes from <= index < to.
func (w writer) RemoveItems(id machine.ID, seq, from, to int) error {
	return w.s.exec(`DELETE FROM items WHERE instruction = (SELECT id FROM instructions WHERE machine = ? AND seq = ?)
		AND idx >= ? AND idx < ?`, id, seq, from, to)
}

package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
)

const (
	maxVariables = 1000

	maxTableRows    = 200
	maxTableColumns = 50
	maxTableFilters = 16
	maxTableText    = 1000 // bytes of a filter, and of the variable's name
)

// Wake brings a machine into memory. What a person paused goes on.
func (e *entry) Wake(ctx context.Context) error {
	o := e.lock()
	o.on(life.Resumed{})
	o.unlock()
	return e.inBox(ctx, func(machine.Sandbox) error { return nil })
}

// Complete completes code at a cursor, in code points.
func (e *entry) Complete(ctx context.Context, code string, cursor int) (c machine.Completions, err error) {
	err = e.inBox(ctx, func(b machine.Sandbox) error { c, err = b.Complete(ctx, code, cursor); return err })
	return c, err
}

// Inspect tells about the name at a cursor.
func (e *entry) Inspect(ctx context.Context, code string, cursor, detail int) (i machine.Inspection, err error) {
	err = e.inBox(ctx, func(b machine.Sandbox) error { i, err = b.Inspect(ctx, code, cursor, detail); return err })
	return i, err
}

// Variables lists the user's names in a machine.
func (e *entry) Variables(ctx context.Context) (v []machine.Variable, err error) {
	err = e.inBox(ctx, func(b machine.Sandbox) error { v, err = b.Variables(ctx, maxVariables); return err })
	return v, err
}

// tableTests are what a filter can ask.
var tableTests = []string{"contains", "eq", "ne", "lt", "le", "gt", "ge"}

// Table reads a page of a table in a machine, at most 200 rows of 50 columns.
func (e *entry) Table(ctx context.Context, q machine.TableQuery) (t machine.Table, err error) {
	if err := checkTable(q); err != nil {
		return t, err
	}
	q.Limit = min(cmp.Or(q.Limit, maxTableRows), maxTableRows)
	q.Columns = min(cmp.Or(q.Columns, maxTableColumns), maxTableColumns)
	err = e.inBox(ctx, func(b machine.Sandbox) error { t, err = b.Table(ctx, q); return err })
	return t, err
}

// SaveTable writes a table to a file of the machine.
func (e *entry) SaveTable(ctx context.Context, q machine.TableQuery, format machine.TableFormat) (path string, err error) {
	if err := checkTable(q); err != nil {
		return "", err
	}
	if format != machine.TableCSV && format != machine.TableXLSX {
		return "", machine.Invalid("A table is saved as csv or xlsx.")
	}
	err = e.inBox(ctx, func(b machine.Sandbox) error { path, err = b.SaveTable(ctx, q, format); return err })
	return path, err
}

func checkTable(q machine.TableQuery) error {
	if q.Name == "" || len(q.Name) > maxTableText {
		return machine.Invalid("Say which variable the table is.")
	}
	if q.Offset < 0 || q.Limit < 0 || q.FirstColumn < 0 || q.Columns < 0 || len(q.Filters) > maxTableFilters {
		return machine.Invalid("A page of a table begins at row 0 and column 0 or behind them, and has at most %d filters.", maxTableFilters)
	}
	for _, f := range q.Filters {
		if !slices.Contains(tableTests, f.Test) || len(f.Value) > maxTableText {
			return machine.Invalid("A filter is one of %s, with a value of at most %d bytes.", strings.Join(tableTests, ", "), maxTableText)
		}
	}
	return nil
}

// Subscribe delivers events after a position.
func (s *Service) Subscribe(ctx context.Context, after string) <-chan machine.Event {
	events := s.hub.Subscribe(ctx, after)
	s.poke()
	return events
}

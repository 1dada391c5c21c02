package hosted

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Instruction returns one as it is on record, putting it there if it was sent from elsewhere.
func (r *remote) Instruction(ctx context.Context, seq int) (machine.Instruction, error) {
	r.mu.Lock()
	latest := r.latest
	r.mu.Unlock()
	if latest != nil && latest.Seq == seq {
		return *latest, nil
	}
	r.s.settled() // its end may be told and not yet written, and nobody tells it again
	in, err := r.s.records.Instruction(ctx, r.rec.ID, seq)
	if errors.Is(err, machine.ErrNotFound) {
		if err = r.adopt(ctx, seq); err == nil {
			in, err = r.s.records.Instruction(ctx, r.rec.ID, seq)
		}
	}
	return in.Instruction, err
}

// Wait returns an instruction once it is over.
func (r *remote) Wait(ctx context.Context, seq int) (machine.Instruction, error) {
	for {
		changed := r.next()
		in, err := r.Instruction(ctx, seq)
		if err != nil || in.Status.Done() {
			return in, err
		}
		if err := r.await(ctx, changed); err != nil {
			return in, err
		}
	}
}

// next is closed when something gets on.
func (r *remote) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// await waits for something to get on.
func (r *remote) await(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.s.ctx.Done():
		return &machine.Error{Kind: machine.ErrUnavailable, Message: "Somebody signed out of the hosted service, or ForeverVM is being stopped. The step goes on there."}
	}
}

const (
	usualPage  = 50
	mostOnPage = 500
)

// Instructions returns a page of what went through this computer.
func (r *remote) Instructions(ctx context.Context, q machine.InstructionQuery) (machine.Page[machine.Instruction], error) {
	if q.Limit <= 0 {
		q.Limit = usualPage
	}
	q.Limit = min(q.Limit, mostOnPage)
	r.s.settled()
	return r.s.records.Instructions(ctx, r.rec.ID, q)
}

const mostPlots = 200

// Plots returns a page of what was drawn, as far as it went through this computer.
func (r *remote) Plots(ctx context.Context, q machine.PlotQuery) (machine.Page[machine.Plot], error) {
	if q.Limit <= 0 {
		q.Limit = usualPage
	}
	q.Limit = min(q.Limit, mostPlots)
	r.s.settled()
	return r.s.records.Plots(ctx, r.rec.ID, q)
}

const pageItems = 1000

// Items returns recorded output.
func (r *remote) Items(ctx context.Context, seq, from, limit int) ([]machine.Item, error) {
	if limit <= 0 || limit > pageItems {
		limit = pageItems
	}
	page, err := r.s.records.Items(ctx, r.rec.ID, seq, max(0, from), limit)
	return page.Items, err
}

// Follow yields output until the instruction is over.
func (r *remote) Follow(ctx context.Context, seq, from int, yield func(machine.Item) error) (machine.Instruction, error) {
	for from = max(0, from); ; {
		changed := r.next()
		in, err := r.Instruction(ctx, seq)
		if err != nil {
			return machine.Instruction{}, err
		}
		switch {
		case from < in.Items:
			page, err := r.s.records.Items(ctx, r.rec.ID, seq, from, pageItems)
			if err != nil {
				return machine.Instruction{}, err
			}
			from = in.Items
			for _, item := range page.Items {
				if err := yield(item); err != nil {
					return machine.Instruction{}, err
				}
				from = item.Index + 1
			}
		case in.Status.Done():
			return in, nil
		default:
			if err := r.await(ctx, changed); err != nil {
				return machine.Instruction{}, err
			}
		}
	}
}

// Output returns the text of the recorded output.
func (r *remote) Output(ctx context.Context, seq int) (machine.OutputReader, error) {
	in, err := r.Instruction(ctx, seq)
	if err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	out := &outputReader{PipeReader: reader, size: in.OutputBytes - in.OutputDropped}
	r.s.spawn(func() {
		var err error
		for from := 0; err == nil && from < in.Items; {
			var items []machine.Item
			if items, err = r.Items(ctx, seq, from, 0); err == nil && len(items) == 0 {
				break
			}
			for _, item := range items {
				if err == nil {
					_, err = writer.Write(item.Text)
				}
				from = item.Index + 1
			}
		}
		writer.CloseWithError(err)
	})
	return out, nil
}

type outputReader struct {
	*io.PipeReader
	size int64
}

// Size is how many bytes there are.
func (o *outputReader) Size() int64 { return o.size }

// stopper is who sends what only stops something.
var stopper = machine.Client{Name: "ForeverVM"}

// Interrupt stops what runs, and cancels what waits: the service cannot do the one without the
// other. It does so with an instruction that does nothing.
func (r *remote) Interrupt(ctx context.Context) error {
	r.mu.Lock()
	busy := len(r.open) > 0 || r.pending
	r.mu.Unlock()
	if !busy {
		return nil
	}
	_, _, err := r.Execute(ctx, machine.ExecuteOptions{
		Code: "None  # stops what runs", Timeout: time.Minute, Interrupt: true, Client: stopper,
	})
	return err
}

// turnWithin is how long an instruction that is to be stopped may take to become the one that runs,
// as far as is known here: that the one before it is over may still be on its way.
const turnWithin = 10 * time.Second

// InterruptInstruction stops an instruction if it is the one that runs; one that is over needs
// nothing. One that waits cannot be stopped alone.
func (r *remote) InterruptInstruction(ctx context.Context, seq int) error {
	turn, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	for {
		changed := r.next()
		switch open := r.unfinished(); {
		case !slices.Contains(open, seq):
			return nil
		case open[0] == seq:
			return r.Interrupt(ctx)
		}
		if err := r.await(turn, changed); errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return cannot("stop one step that waits for another; stopping the machine stops what runs, and cancels all that wait")
		} else if err != nil {
			return err
		}
	}
}

// searchRest begins the cursors of the part of a search that is about hosted machines, which comes
// after the other.
const searchRest = "hosted:"

// Search looks in what ran here, and then in what went to the service from here.
func (m *Machines) Search(ctx context.Context, q machine.SearchQuery) (machine.Page[machine.SearchHit], error) {
	s := m.current()
	cursor, rest := strings.CutPrefix(q.Cursor, searchRest)
	var page machine.Page[machine.SearchHit]
	r := (*remote)(nil)
	if q.Machine != "" {
		if _, err := m.Service.Find(ctx, q.Machine); err != nil {
			r = m.remote(ctx, q.Machine)
		}
	}
	if !rest && r == nil {
		var err error
		if page, err = m.Service.Search(ctx, q); err != nil || page.Next != "" || s == nil || q.Machine != "" {
			return page, err
		}
		cursor = ""
	}
	if s == nil {
		return page, nil
	}
	id := machine.ID("")
	if r != nil {
		id = r.rec.ID
	}
	if q.Limit <= 0 {
		q.Limit = usualPage
	}
	q.Cursor, q.Limit = cursor, min(q.Limit, mostOnPage)
	s.settled()
	found, err := s.records.Search(ctx, q, id)
	if err != nil {
		return page, err
	}
	for _, hit := range found.Items {
		if r := s.named(hit.MachineName); r != nil {
			hit.MachineName = r.Name()
			page.Items = append(page.Items, hit)
		}
	}
	if found.Next != "" {
		page.Next = searchRest + found.Next
	}
	return page, nil
}

package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// readOutput answers with an instruction's output from an offset on, after waiting for its end.
func (s *Server) readOutput(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	repl := call.GetString("replId", "")
	m := s.of(ctx)
	in, err := s.chosen(ctx, m, repl, call)
	if err != nil {
		return failure(err, repl), nil
	}
	offset := max(int64(call.GetInt("offset", 0)), 0)
	if !client.Done(in) {
		wait := min(max(time.Duration(call.GetFloat("waitSeconds", s.opts.AnswerWithin.Seconds())*float64(time.Second)), 0), s.opts.AnswerWithin)
		if now, err := m.Machine(ctx, repl); err == nil && now.Paused {
			wait = 0
		}
		asTask := declaresTasks(call) && wait > s.opts.TaskAfter
		if asTask {
			wait = s.opts.TaskAfter
		}
		waiting, cancel := context.WithTimeout(ctx, wait)
		_, err := s.follow(waiting, call, m, in, collect(outputLimit))
		cancel()
		if asTask && err != nil && s.outlasts(ctx, err) {
			return s.handOver(ctx, m, taskID{readTask, in.Machine, in.Seq, offset}, in), nil
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return failure(err, repl), nil
		}
		if in, err = m.Instruction(ctx, repl, in.Seq, 0); err != nil {
			return failure(err, repl), nil
		}
	}
	return s.piece(ctx, m, repl, in, offset), nil
}

// piece answers with an instruction's output from an offset on, as it is.
func (s *Server) piece(ctx context.Context, m Machines, repl string, in api.Instruction, offset int64) *mcp.CallToolResult {
	if offset == 0 {
		s.pictured.forget(in) // anyone who starts again at the beginning wants to see everything
	}
	text, more, err := outputFrom(ctx, m, repl, in.Seq, offset, outputLimit)
	if err != nil {
		return failure(err, repl)
	}
	next := offset + int64(len(text))
	o := s.describe(ctx, m, repl, in, next)
	o.output = readable(text)
	var pictures []shown // they come with the last piece, once
	if client.Done(in) {
		if pictures, err = picturesOf(ctx, m, in); err != nil {
			return failure(err, repl)
		}
		if !more && !s.pictured.has(in) {
			s.pictured.add(in)
		} else if len(pictures) > 0 {
			o.note(fmt.Sprintf("The pictures (%d) are not in this reply; each is a resource, %s and so on.", len(pictures), plotURI(repl, in.Seq, 1)))
			pictures = nil
		}
	}
	if more && client.Done(in) {
		o.note(fmt.Sprintf("There is more output: call read-output with step %d and offset %d.", in.Seq+1, next))
	}
	return s.assemble(ctx, m, o, pictures)
}

// chosen is the instruction that a call is about: step, or the latest.
func (s *Server) chosen(ctx context.Context, m Machines, repl string, call mcp.CallToolRequest) (api.Instruction, error) {
	// Earlier builds counted from 0, as seq.
	if step := call.GetInt("step", call.GetInt("seq", -1)+1); step > 0 {
		return m.Instruction(ctx, repl, step-1, 0)
	}
	page, err := m.Instructions(ctx, repl, client.InstructionQuery{Newest: true, Limit: 1})
	if err != nil {
		return api.Instruction{}, err
	}
	if len(page.Items) == 0 {
		return api.Instruction{}, fmt.Errorf("%w: nothing has run in %s yet", client.ErrInvalid, repl)
	}
	return page.Items[0], nil
}

// picturesOf returns an instruction's pictures, in the order in which replies and resources number
// them.
func picturesOf(ctx context.Context, m Machines, in api.Instruction) ([]shown, error) {
	got, err := collectAll(ctx, m, in, 0)
	return got.pictures, err
}

// collectAll collects what an instruction has put out, with at most limit bytes of text.
func collectAll(ctx context.Context, m Machines, in api.Instruction, limit int) (*collected, error) {
	got := collect(limit)
	err := eachItem(ctx, m, in.Machine, in.Seq, func(item api.Item) bool {
		got.add(item)
		return true
	})
	got.end(in)
	return got, err
}

// eachItem calls yield with everything that an instruction has put out, until yield says no.
func eachItem(ctx context.Context, m Machines, repl string, seq int, yield func(api.Item) bool) error {
	for from := 0; ; {
		page, err := m.Items(ctx, repl, seq, from, 1000)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if !yield(item) {
				return nil
			}
			from = item.Index + 1
		}
		if page.Next == "" || len(page.Items) == 0 {
			return nil
		}
	}
}

// outputFrom returns a piece of an instruction's text, ending at the end of a line where there is
// one.
func outputFrom(ctx context.Context, m Machines, repl string, seq int, offset int64, limit int) (text string, more bool, err error) {
	var piece []byte
	err = eachItem(ctx, m, repl, seq, func(item api.Item) bool {
		text := textOf(item)
		skip := min(offset, int64(len(text)))
		offset -= skip
		piece = append(piece, text[skip:]...)
		return len(piece) <= limit
	})
	if err != nil || len(piece) <= limit {
		return string(piece), false, err
	}
	return string(piece[:pieceEnd(piece[:limit])]), true, nil
}

// pictured remembers of the latest instructions that a reply brought all their pictures: further
// pieces of their output then come without.
type pictured struct {
	mu   sync.Mutex
	keys []instructionKey // oldest first
}

type instructionKey struct {
	machine string
	seq     int
}

const remembered = 1000

func (p *pictured) add(in api.Instruction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append(p.keys, instructionKey{in.Machine, in.Seq})
	if len(p.keys) > remembered {
		p.keys = slices.Delete(p.keys, 0, 1)
	}
}

func (p *pictured) has(in api.Instruction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.keys, instructionKey{in.Machine, in.Seq})
}

func (p *pictured) forget(in api.Instruction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = slices.DeleteFunc(p.keys, func(k instructionKey) bool { return k == instructionKey{in.Machine, in.Seq} })
}

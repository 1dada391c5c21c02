package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	if !client.Done(in) {
		wait := min(max(time.Duration(call.GetFloat("waitSeconds", s.opts.AnswerWithin.Seconds())*float64(time.Second)), 0), s.opts.AnswerWithin)
		waiting, cancel := context.WithTimeout(ctx, wait)
		_, err := s.follow(waiting, call, m, in, collect(outputLimit))
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return failure(err, repl), nil
		}
		if in, err = m.Instruction(ctx, repl, in.Seq, 0); err != nil {
			return failure(err, repl), nil
		}
	}
	offset := max(int64(call.GetInt("offset", 0)), 0)
	text, more, err := outputFrom(ctx, m, repl, in.Seq, offset, outputLimit)
	if err != nil {
		return failure(err, repl), nil
	}
	var pictures []shown // they come with the end
	if client.Done(in) {
		if pictures, err = picturesOf(ctx, m, in); err != nil {
			return failure(err, repl), nil
		}
	}
	o := s.describe(repl, in)
	o.Output = readable(text)
	next := offset + int64(len(text))
	if more || !client.Done(in) {
		o.NextOffset = &next
	}
	if more {
		o.addNote(fmt.Sprintf("There is more output: call read-output with seq %d and offset %d.", in.Seq, next))
	}
	return s.assemble(ctx, m, o, pictures), nil
}

// chosen is the instruction that a call is about: seq, or the latest.
func (s *Server) chosen(ctx context.Context, m Machines, repl string, call mcp.CallToolRequest) (api.Instruction, error) {
	if seq := call.GetInt("seq", -1); seq >= 0 {
		return m.Instruction(ctx, repl, seq, 0)
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

// picturesOf returns an instruction's pictures, in the order in which replies and resources number them.
func picturesOf(ctx context.Context, m Machines, in api.Instruction) ([]shown, error) {
	got := collect(0)
	for from := 0; ; {
		page, err := m.Items(ctx, in.Machine, in.Seq, from, 1000)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			got.add(item)
			from = item.Index + 1
		}
		if page.Next == "" || len(page.Items) == 0 {
			got.end(in)
			return got.pictures, nil
		}
	}
}

// outputFrom returns a piece of an instruction's output text, ending at the end of a line where there is one.
func outputFrom(ctx context.Context, m Machines, repl string, seq int, offset, limit int64) (text string, more bool, err error) {
	body, err := m.Output(ctx, repl, seq)
	if err != nil {
		return "", false, err
	}
	defer body.Close()
	if _, err := io.CopyN(io.Discard, body, offset); err != nil {
		if errors.Is(err, io.EOF) {
			return "", false, nil
		}
		return "", false, err
	}
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return "", false, err
	}
	if int64(len(data)) <= limit {
		return string(data), false, nil
	}
	return string(data[:pieceEnd(data[:limit])]), true, nil
}

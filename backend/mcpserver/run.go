package mcpserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

const (
	outputLimit = 64 << 10 // bytes of output text in one reply: more helps no model
	valueLimit  = 32 << 10 // of the result and of the error, each
	maxPictures = 24       // in one reply
)

// outcome is what an instruction's reply says.
type outcome struct {
	repl   string
	seq    int
	status string
	output string  // printed, with the text forms of what was displayed
	value  *string // repr() of the last expression; nil for none
	err    string  // the traceback
	notes  []string
}

// text is the outcome as in a notebook: output, value, error. The last line, in brackets, says what
// is not obvious.
func (o *outcome) text() string {
	parts := []string{o.output, o.err}
	if o.value != nil {
		parts = []string{o.output, *o.value, o.err}
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	for i, part := range parts {
		parts[i] = strings.TrimSuffix(part, "\n")
	}
	if len(o.notes) > 0 {
		parts = append(parts, "["+strings.Join(o.notes, " ")+"]")
	}
	return strings.Join(parts, "\n")
}

// note adds a sentence to what stands in brackets; empty for none.
func (o *outcome) note(sentence string) {
	if sentence != "" {
		o.notes = append(o.notes, sentence)
	}
}

// run executes code and answers with all there is when it ends. When the time is up, it answers
// with a task, or with what there is where the client takes no tasks. A client that has asked its
// person calls again with the answer, and the same code is waited for.
func (s *Server) run(ctx context.Context, call mcp.CallToolRequest, repl, code string, limit time.Duration) (*mcp.CallToolResult, error) {
	m := s.of(ctx)
	before := parseRound(call, repl)
	if id := before.of; id.tool == runTask {
		if err := answerQuestions(ctx, m, repl, call.Params.InputResponses); err != nil {
			return failure(err, repl), nil
		}
		in, err := m.Instruction(ctx, repl, id.seq, 0)
		if err != nil {
			return failure(err, repl), nil
		}
		return s.attend(ctx, call, m, repl, before, func(ctx context.Context, queued func(api.Instruction), yield func(api.Item) error) (api.Instruction, error) {
			queued(in)
			return m.Follow(ctx, repl, id.seq, 0, yield)
		})
	}
	return s.attend(ctx, call, m, repl, before, func(ctx context.Context, queued func(api.Instruction), yield func(api.Item) error) (api.Instruction, error) {
		return m.Run(ctx, repl, api.Execute{Code: code, Summary: call.GetString("summary", ""), TimeoutSeconds: limit.Seconds()}, queued, yield)
	})
}

// follower waits for an instruction's end. queued is called first, once.
type follower func(ctx context.Context, queued func(api.Instruction), yield func(api.Item) error) (api.Instruction, error)

// attend answers a call with what becomes of an instruction, as run says. before is the round of
// questions that the call answers.
func (s *Server) attend(ctx context.Context, call mcp.CallToolRequest, m Machines, repl string, before round, follow follower) (*mcp.CallToolResult, error) {
	patience, asTask := s.opts.AnswerWithin, declaresTasks(call)
	if asTask {
		patience = min(patience, s.opts.TaskAfter)
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	waiting, unwatch := watchQuestions(waiting, m, repl, before)
	defer unwatch()
	var in *api.Instruction
	known := make(chan struct{}) // closed once in is set
	running, end := outlasting(waiting, known, s.opts.AnswerWithin-patience+lastAnswer)
	defer end()
	got := collect(outputLimit)
	done, err := func() (api.Instruction, error) {
		tell := s.progress(ctx, call, func() string { return s.waits(ctx, m, repl) })
		defer tell.stop()
		return follow(running, func(queued api.Instruction) {
			in = &queued
			close(known)
		}, func(item api.Item) error {
			tell.text(got.add(item))
			return nil
		})
	}()
	if err != nil && running.Err() != nil {
		err = context.Cause(waiting)
	}
	if errors.Is(err, errAsked) {
		if in != nil && ctx.Err() == nil {
			if question := askHosts(ctx, m, round{before.number + 1, taskID{runTask, in.Machine, in.Seq, 0}}); question != nil {
				return question, nil
			}
		}
		err = context.DeadlineExceeded // it is answered, or gone: the rest comes with the next call
	}
	switch {
	case err == nil:
		got.end(done)
		return s.reply(ctx, m, repl, done, got), nil
	case in == nil:
		return failure(err, repl), nil
	case asTask && s.outlasts(ctx, err):
		return s.handOver(ctx, m, taskID{runTask, in.Machine, in.Seq, 0}, *in), nil
	case s.closing.Err() != nil:
		return mcp.NewToolResultErrorf("The ForeverVM daemon is restarting; step %d of %s goes on afterwards. Call read-output to see how it went.", in.Seq+1, repl), nil
	case errors.Is(ctx.Err(), context.Canceled):
		s.stop(m, repl, in.Seq)
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		// It may be the call's own time that is up: the answer gets a little of its own.
		answering, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswer)
		defer cancel()
		return s.unfinished(answering, m, repl, *in, got), nil
	}
	return failure(err, repl), nil
}

// outlasting is a context that ends with ctx, but not before known is closed, for as long as grace:
// while it is not known what runs, nobody could stop it.
func outlasting(ctx context.Context, known <-chan struct{}, grace time.Duration) (context.Context, context.CancelFunc) {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-known:
		case <-lasting.Done():
		case <-time.After(grace):
		}
		end()
	})
	return lasting, func() {
		stop()
		end()
	}
}

// follow collects an instruction's output until it ends, telling the client of it as it comes.
func (s *Server) follow(ctx context.Context, call mcp.CallToolRequest, m Machines, in api.Instruction, got *collected) (api.Instruction, error) {
	tell := s.progress(ctx, call, func() string { return s.waits(ctx, m, in.Machine) })
	defer tell.stop()
	return m.Follow(ctx, in.Machine, in.Seq, 0, func(item api.Item) error {
		tell.text(got.add(item))
		return nil
	})
}

// unfinished answers for an instruction that goes on after its call.
func (s *Server) unfinished(ctx context.Context, m Machines, repl string, in api.Instruction, got *collected) *mcp.CallToolResult {
	now, err := m.Instruction(ctx, in.Machine, in.Seq, 0)
	if err != nil {
		return failure(err, repl)
	}
	if client.Done(now) { // in this very moment
		got.end(now)
	}
	return s.reply(ctx, m, repl, now, got)
}

// stop interrupts an instruction that nobody waits for any more, or takes it out of the queue.
func (s *Server) stop(m Machines, repl string, seq int) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := m.Stop(ctx, repl, seq); err != nil {
		s.opts.Logger.Warn("a cancelled instruction could not be stopped", "machine", repl, "seq", seq, "err", err)
	}
}

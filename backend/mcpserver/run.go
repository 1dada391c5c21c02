package mcpserver

import (
	"context"
	"errors"
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

// outcome is what an instruction's reply says: the text item's JSON and the structured content are
// both this.
type outcome struct {
	Output     string  `json:"output" jsonschema_description:"What the code printed (stdout and stderr, in order), and the text forms of tables and other things that it displayed"`
	Result     *string `json:"result" jsonschema_description:"repr() of the last expression; null when there is none, when the code failed, or while it still runs"`
	ReplID     string  `json:"replId" jsonschema_description:"The REPL that the code ran in"`
	Error      string  `json:"error,omitempty" jsonschema_description:"The traceback, when the code failed"`
	Seq        int     `json:"seq" jsonschema_description:"The instruction's number, for read-output"`
	Status     string  `json:"status" jsonschema:"enum=ok,enum=error,enum=running,enum=queued,enum=cancelled" jsonschema_description:"running or queued: not finished yet, call read-output to wait for the rest"`
	NextOffset *int64  `json:"nextOffset,omitempty" jsonschema_description:"Where read-output should go on, when there is or may be more output"`
	Note       string  `json:"note,omitempty" jsonschema_description:"What else to know, such as where the rest is"`
}

// run executes code and answers with all there is when it ends, or with what there is when the time
// is up.
func (s *Server) run(ctx context.Context, call mcp.CallToolRequest, repl, code string, limit time.Duration) (*mcp.CallToolResult, error) {
	m := s.of(ctx)
	waiting, cancel := context.WithTimeout(ctx, s.opts.AnswerWithin)
	defer cancel()
	var in *api.Instruction
	known := make(chan struct{}) // closed once in is set
	running, end := outlasting(waiting, known)
	defer end()
	got := collect(outputLimit)
	done, err := func() (api.Instruction, error) {
		tell := s.progress(ctx, call, func() string { return s.waits(ctx, m, repl) })
		defer tell.stop()
		return m.Run(running, repl, api.Execute{Code: code, TimeoutSeconds: limit.Seconds()}, func(queued api.Instruction) {
			in = &queued
			close(known)
		}, func(item api.Item) error {
			tell.text(got.add(item))
			return nil
		})
	}()
	if err != nil && running.Err() != nil {
		err = waiting.Err()
	}
	switch {
	case err == nil:
		got.end(done)
		return s.reply(ctx, m, repl, done, got), nil
	case in == nil:
		return failure(err, repl), nil
	case s.closing.Err() != nil:
		return mcp.NewToolResultErrorf("The ForeverVM daemon is restarting; instruction %d of %s goes on afterwards. Call read-output with seq %d to see how it went.", in.Seq, repl, in.Seq), nil
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

// outlasting is a context that ends with ctx, but not before known is closed, for a moment: while
// it is not known what runs, nobody could stop it.
func outlasting(ctx context.Context, known <-chan struct{}) (context.Context, context.CancelFunc) {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-known:
		case <-lasting.Done():
		case <-time.After(lastAnswer):
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

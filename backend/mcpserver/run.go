package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

const (
	outputLimit  = 64 << 10 // bytes of output text in one reply: more helps no model
	valueLimit   = 32 << 10 // of the result and of the error, each
	maxPictures  = 24       // in one reply
	progressGap  = 200 * time.Millisecond
	progressText = 4 << 10 // bytes of one progress message
	heartbeat    = 5 * time.Second
)

// outcome is what an instruction's reply says: the text item's JSON and the structured content are both this.
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

// run executes code and answers with all there is when it ends, or with what there is when the time is up.
func (s *Server) run(ctx context.Context, call mcp.CallToolRequest, repl, code string, limit time.Duration) (*mcp.CallToolResult, error) {
	m := s.of(ctx)
	waiting, cancel := context.WithTimeout(ctx, s.opts.AnswerWithin)
	defer cancel()
	in, _, err := m.Execute(waiting, repl, api.Execute{Code: code, TimeoutSeconds: limit.Seconds()})
	if err != nil {
		return failure(err, repl), nil
	}
	got := collect(outputLimit)
	done, err := s.follow(waiting, call, m, in, got)
	switch {
	case err == nil:
		got.end(done)
		return s.reply(ctx, m, repl, done, got), nil
	case s.closing.Err() != nil:
		return mcp.NewToolResultErrorf("The ForeverVM daemon is restarting; instruction %d of %s goes on afterwards. Call read-output with seq %d to see how it went.", in.Seq, repl, in.Seq), nil
	case ctx.Err() != nil:
		s.stop(m, repl, in.Seq)
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return s.unfinished(ctx, m, repl, in, got), nil
	}
	return failure(err, repl), nil
}

// follow collects an instruction's output until it ends, telling the client of it as it comes.
func (s *Server) follow(ctx context.Context, call mcp.CallToolRequest, m Machines, in api.Instruction, got *collected) (api.Instruction, error) {
	tell := s.progress(ctx, call)
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
	in, err := m.Instruction(ctx, repl, seq, 0)
	switch {
	case err != nil:
	case in.Status == "running":
		_, err = m.Interrupt(ctx, repl)
	case in.Status == "queued":
		err = m.CancelInstruction(ctx, repl, seq)
	}
	if err != nil {
		s.opts.Logger.Warn("a cancelled instruction could not be stopped", "machine", repl, "seq", seq, "err", err)
	}
}

// progress sends the client progress notifications, if it asked for them.
type progress struct {
	send func(progress float64, message string)

	mu      sync.Mutex
	pending string
	sent    time.Time
	count   float64

	quit chan struct{}
	done sync.WaitGroup
}

func (s *Server) progress(ctx context.Context, call mcp.CallToolRequest) *progress {
	p := &progress{quit: make(chan struct{})}
	if call.Params.Meta == nil || call.Params.Meta.ProgressToken == nil {
		return p
	}
	token := call.Params.Meta.ProgressToken
	mcpServer := server.ServerFromContext(ctx)
	p.send = func(progress float64, message string) {
		params := map[string]any{"progressToken": token, "progress": progress}
		if message != "" {
			params["message"] = message
		}
		// A client that does not read its notifications misses some; the reply has everything.
		_ = mcpServer.SendNotificationToClient(ctx, "notifications/progress", params)
	}
	p.done.Go(p.beat)
	return p
}

// text tells of output; little pieces in quick succession are told together.
func (p *progress) text(text string) {
	if p.send == nil || text == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count += float64(len(text))
	p.pending += text
	if len(p.pending) > 2*progressText {
		p.pending = p.pending[len(p.pending)-progressText:]
	}
	if time.Since(p.sent) >= progressGap {
		p.flush()
	}
}

func (p *progress) flush() {
	message, _ := cutMiddle(readable(p.pending), progressText)
	p.pending, p.sent = "", time.Now()
	p.send(p.count, message)
}

// beat sends what waits, and a sign of life while nothing is printed: clients give up on silence.
func (p *progress) beat() {
	tick := time.NewTicker(progressGap)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			p.mu.Lock()
			if p.pending != "" {
				p.flush()
			} else if !p.sent.IsZero() && time.Since(p.sent) >= heartbeat {
				p.count += 0.001
				p.flush()
			} else if p.sent.IsZero() {
				p.sent = time.Now()
			}
			p.mu.Unlock()
		}
	}
}

func (p *progress) stop() {
	close(p.quit)
	p.done.Wait()
}

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

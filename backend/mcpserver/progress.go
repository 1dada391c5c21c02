package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	progressGap  = 200 * time.Millisecond
	progressText = 4 << 10 // bytes of one progress message
	heartbeat    = 5 * time.Second
)

// progress sends the client progress notifications, if it asked for them.
type progress struct {
	send func(progress float64, message string)
	why  func() string // nothing is printed; empty for no reason

	mu      sync.Mutex
	pending string
	sent    time.Time
	count   float64

	quit chan struct{}
	done sync.WaitGroup
}

func (s *Server) progress(ctx context.Context, call mcp.CallToolRequest, why func() string) *progress {
	p := &progress{why: why, quit: make(chan struct{})}
	if call.Params.Meta == nil || call.Params.Meta.ProgressToken == nil {
		return p
	}
	token := call.Params.Meta.ProgressToken
	mcpServer := server.ServerFromContext(ctx)
	p.send = func(progress float64, message string) {
		if ctx.Err() != nil {
			return
		}
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
			silent := false
			switch {
			case p.pending != "":
				p.flush()
			case p.sent.IsZero():
				p.sent = time.Now()
			default:
				silent = time.Since(p.sent) >= heartbeat
			}
			p.mu.Unlock()
			if silent {
				p.alive(p.why())
			}
		}
	}
}

// alive sends a sign of life, unless there is text by now.
func (p *progress) alive(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == "" {
		p.count += 0.001
		p.pending = why
		p.flush()
	}
}

func (p *progress) stop() {
	close(p.quit)
	p.done.Wait()
}

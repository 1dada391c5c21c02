package client

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/api"
)

// maxLine bounds one line of a stream: an item's text and its small representations.
const maxLine = 32 << 20

// errYield carries an error of the caller's function out of a stream.
type errYield struct{ error }

// Run queues an instruction and follows it to its end, with one request where nothing breaks. It
// calls queued once, with the instruction as the server took it, and then yield with each item, as
// Follow does. The instruction gets a key unless it has one, so that it never runs twice.
func (c *Client) Run(ctx context.Context, name string, e api.Execute, queued func(api.Instruction), yield func(api.Item) error) (api.Instruction, error) {
	if e.Key == "" {
		e.Key = rand.Text()
	}
	f := follower{yield: yield}
	f.begun = func(in api.Instruction) {
		f.begun = nil
		f.seq = in.Seq
		queued(in)
	}
	r := request{method: http.MethodPost, path: machinePath(name, "run"), json: e, repeatable: true}
	for lost := 0; ; lost++ {
		resp, err := c.send(ctx, r)
		if errors.Is(err, ErrUnsupported) {
			in, _, err := c.wireExecute(ctx, name, e)
			if err != nil {
				return in, err
			}
			queued(in)
			return c.wireFollow(ctx, name, in.Seq, 0, yield)
		}
		if err != nil {
			return api.Instruction{}, err
		}
		if isPage(resp) {
			_ = resp.Body.Close()
			return api.Instruction{}, errPage
		}
		err = c.lines(ctx, r, resp, f.line)
		if f.done != nil {
			return *f.done, nil
		}
		if broke := brokeOff(ctx, err); broke != nil {
			return api.Instruction{}, broke
		}
		if f.begun == nil {
			return c.follow(ctx, name, &f)
		}
		// The answer broke off before it said which instruction it is about.
		if lost == answersLost {
			return api.Instruction{}, cmp.Or(err, c.dropped(ctx, r, io.ErrUnexpectedEOF))
		}
		if err := pause(ctx, jittered(firstBackoff<<lost)); err != nil {
			return api.Instruction{}, err
		}
	}
}

// Follow calls yield with each item that an instruction puts out, from index `from` on, those there
// are first and then as they come. Once the instruction has ended it returns it. After a broken
// connection it goes on with the next item. An error of yield ends it and is returned as it is.
func (c *Client) Follow(ctx context.Context, name string, seq, from int, yield func(api.Item) error) (api.Instruction, error) {
	return c.follow(ctx, name, &follower{seq: seq, from: from, yield: yield})
}

func (c *Client) follow(ctx context.Context, name string, f *follower) (api.Instruction, error) {
	for {
		r := request{method: http.MethodGet, path: instructionPath(name, f.seq) + "/stream", query: url.Values{"from": {strconv.Itoa(f.from)}}, repeatable: true}
		err := c.stream(ctx, r, f.line)
		if f.done != nil {
			return *f.done, nil
		}
		if errors.Is(err, ErrUnsupported) {
			return c.wireFollow(ctx, name, f.seq, f.from, f.yield)
		}
		if err = brokeOff(ctx, err); err != nil {
			return api.Instruction{}, err
		}
		if err := pause(ctx, firstBackoff); err != nil {
			return api.Instruction{}, err
		}
	}
}

// follower reads the stream of one instruction, over several requests if need be.
type follower struct {
	begun func(api.Instruction) // takes the first message of a stream that begins with the queued instruction
	yield func(api.Item) error
	seq   int
	from  int              // the next item's index
	done  *api.Instruction // once it has ended
}

func (f *follower) line(line []byte) error {
	var m api.StreamMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	switch {
	case m.Instruction != nil && f.begun != nil:
		f.begun(*m.Instruction)
	case m.Instruction != nil && Done(*m.Instruction):
		f.done = m.Instruction
	case m.Item != nil && m.Item.Index >= f.from:
		if err := f.yield(*m.Item); err != nil {
			return errYield{err}
		}
		f.from = m.Item.Index + 1
	}
	return nil
}

// Events calls yield with everything that happens after the given position ("" for from now on),
// until ctx ends or yield returns an error, which it then returns. It reconnects on its own and
// resumes where it was; an event of type "reset" says that what was missed is unknown, so that
// everything has to be loaded again. With types, only events of these and resets come.
func (c *Client) Events(ctx context.Context, after string, yield func(api.Event) error, types ...string) error {
	for {
		values := url.Values{"type": types}
		if after != "" {
			values.Set("after", after)
		}
		err := c.stream(ctx, request{method: http.MethodGet, path: "/api/events", query: values, repeatable: true}, func(line []byte) error {
			var e api.Event
			if err := json.Unmarshal(line, &e); err != nil {
				return err
			}
			if e.ID != "" {
				after = e.ID
			}
			if e.Type == "ping" {
				return nil
			}
			if err := yield(e); err != nil {
				return errYield{err}
			}
			return nil
		})
		if err = brokeOff(ctx, err); err != nil {
			return err
		}
		if err := pause(ctx, firstBackoff); err != nil {
			return err
		}
	}
}

// brokeOff returns nil when a stream ended in a way that another attempt may mend, else the error
// for the caller.
func brokeOff(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if own, ok := errors.AsType[errYield](err); ok {
		return own.error
	}
	if err == nil || errors.Is(err, ErrDropped) {
		return nil
	}
	return err
}

// stream sends a request and hands over each line of the answer.
func (c *Client) stream(ctx context.Context, r request, line func([]byte) error) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	return c.lines(ctx, r, resp, line)
}

// lines hands over each line of an answer, and closes it.
func (c *Client) lines(ctx context.Context, r request, resp *http.Response, line func([]byte) error) error {
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := line(lines.Bytes()); err != nil {
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) { // cut off in the middle of a line
				return c.dropped(ctx, r, io.ErrUnexpectedEOF)
			}
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%w: the server sent a line of more than %d bytes", ErrInvalid, maxLine)
	}
	if lines.Err() != nil {
		return c.dropped(ctx, r, lines.Err())
	}
	return nil
}

// Status returns the daemon's state.
func (c *Client) Status(ctx context.Context) (api.Status, error) {
	var s api.Status
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/status", repeatable: true}, &s)
	return s, err
}

// Health returns the version of the server that answers; it needs no token. A server that is not
// ours has no such answer.
func (c *Client) Health(ctx context.Context) (version string, err error) {
	var h struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = c.call(ctx, request{method: http.MethodGet, path: "/health", repeatable: true}, &h)
	return h.Version, err
}

// OpenCode returns a code that opens the page once, within a minute, as URL + "/#open=" + code.
func (c *Client) OpenCode(ctx context.Context) (string, error) {
	var answer struct {
		Code string `json:"code"`
	}
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/open", repeatable: true}, &answer)
	return answer.Code, err
}

// StartEngine starts what an engine needs, where that is installed and does not run, and tells how
// the engine stands then.
func (c *Client) StartEngine(ctx context.Context, name string) (api.Engine, error) {
	var e api.Engine
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/engines/" + url.PathEscape(name) + "/start"}, &e)
	return e, err
}

// Shutdown checkpoints every machine and ends the daemon. It returns when the daemon has accepted.
func (c *Client) Shutdown(ctx context.Context) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/shutdown"}, nil)
	return err
}

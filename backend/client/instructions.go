package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/api"
)

// InstructionQuery chooses instructions of one machine.
type InstructionQuery struct {
	Before *int // only sequence numbers below
	After  *int // only sequence numbers above
	Newest bool // newest first; else oldest first
	Limit  int  // the server's default when 0
}

// Instructions returns one page of a machine's history.
func (c *Client) Instructions(ctx context.Context, name string, q InstructionQuery) (api.List[api.Instruction], error) {
	values := url.Values{"order": {"oldest"}}
	if q.Newest {
		values.Set("order", "newest")
	}
	if q.Before != nil {
		values.Set("before", strconv.Itoa(*q.Before))
	}
	if q.After != nil {
		values.Set("after", strconv.Itoa(*q.After))
	}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	var page api.List[api.Instruction]
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "instructions"), query: values, repeatable: true}, &page)
	return page, err
}

// Instruction returns an instruction as it is once it has ended, or after wait at the latest (0: at once).
func (c *Client) Instruction(ctx context.Context, name string, seq int, wait time.Duration) (api.Instruction, error) {
	var values url.Values
	if wait > 0 {
		values = url.Values{"wait": {strconv.FormatFloat(wait.Seconds(), 'f', 3, 64)}}
	}
	var in api.Instruction
	_, err := c.call(ctx, request{method: http.MethodGet, path: instructionPath(name, seq), query: values, repeatable: true}, &in)
	if errors.Is(err, ErrUnsupported) {
		return c.wireInstruction(ctx, name, seq, wait)
	}
	return in, err
}

// Wait returns an instruction once it has ended, however long that takes and however often the daemon is replaced meanwhile.
func (c *Client) Wait(ctx context.Context, name string, seq int) (api.Instruction, error) {
	for {
		in, err := c.Instruction(ctx, name, seq, 30*time.Second)
		if err != nil || Done(in) {
			return in, err
		}
	}
}

// Done says whether nothing more will happen to an instruction.
func Done(in api.Instruction) bool {
	return in.Status == "ok" || in.Status == "error" || in.Status == "cancelled"
}

// CancelInstruction cancels an instruction that waits in the queue.
func (c *Client) CancelInstruction(ctx context.Context, name string, seq int) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: instructionPath(name, seq)}, nil)
	return err
}

// Items returns a page of what an instruction has put out, from an index on.
func (c *Client) Items(ctx context.Context, name string, seq, from, limit int) (api.List[api.Item], error) {
	values := url.Values{"from": {strconv.Itoa(from)}}
	if limit > 0 {
		values.Set("limit", strconv.Itoa(limit))
	}
	var page api.List[api.Item]
	_, err := c.call(ctx, request{method: http.MethodGet, path: instructionPath(name, seq) + "/items", query: values, repeatable: true}, &page)
	return page, err
}

// Output returns all the text of an instruction's output that is kept. The caller closes it.
func (c *Client) Output(ctx context.Context, name string, seq int) (io.ReadCloser, error) {
	resp, err := c.send(ctx, request{method: http.MethodGet, path: instructionPath(name, seq) + "/output", repeatable: true})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Data returns the bytes of a representation, at most limit of them; more is an error.
func (c *Client) Data(ctx context.Context, rep api.Representation, limit int64) ([]byte, error) {
	if encoded, ok := strings.CutPrefix(rep.Href, dataURL(rep.MIME)); ok {
		return base64.StdEncoding.DecodeString(encoded)
	}
	if rep.Text != "" && int64(len(rep.Text)) <= limit {
		return []byte(rep.Text), nil
	}
	if !strings.HasPrefix(rep.Href, "/api/") {
		return nil, fmt.Errorf("%w: %q is not an address of a representation", ErrInvalid, rep.Href)
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: rep.Href, repeatable: true})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%w: the %s is larger than %d bytes", ErrInvalid, rep.MIME, limit)
	}
	return data, err
}

// Search looks for words in code and output; all must match. machine "" means everywhere.
func (c *Client) Search(ctx context.Context, text, machine, cursor string, limit int) (api.List[api.SearchHit], error) {
	values := url.Values{"q": {text}}
	if machine != "" {
		values.Set("machine", machine)
	}
	if cursor != "" {
		values.Set("cursor", cursor)
	}
	if limit > 0 {
		values.Set("limit", strconv.Itoa(limit))
	}
	var page api.List[api.SearchHit]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/search", query: values, repeatable: true}, &page)
	return page, err
}

// Execute queues an instruction and returns it, queued or further. interrupted says whether e.Interrupt stopped or
// cancelled anything. When the connection breaks, the machine's history decides whether it has to be sent again; where
// that cannot be known (the daemon lives, and may still be working on the request), the error is ErrDropped.
func (c *Client) Execute(ctx context.Context, name string, e api.Execute) (in api.Instruction, interrupted bool, err error) {
	for {
		sentTo, err := c.link.current(ctx)
		if err != nil {
			return in, false, err
		}
		sentAt := time.Now().Truncate(time.Millisecond)
		headers, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "instructions"), json: e}, &in)
		switch {
		case err == nil:
			c.link.remember(in)
			return in, headers.Get("X-Forevervm-Interrupted") == "true", nil
		case errors.Is(err, ErrUnsupported):
			return c.wireExecute(ctx, name, e)
		case !errors.Is(err, ErrDropped):
			return in, false, err
		}
		found, sentAgain, recoverErr := c.recover(ctx, name, e, sentTo, sentAt)
		if recoverErr != nil {
			return in, false, errors.Join(err, recoverErr)
		}
		if found != nil {
			return *found, false, nil
		}
		if !sentAgain {
			return in, false, err
		}
	}
}

// recover finds out what became of an instruction whose sending was cut off: found when it is in the machine's history,
// again when it certainly is not and never will be.
func (c *Client) recover(ctx context.Context, name string, e api.Execute, sentTo Endpoint, sentAt time.Time) (found *api.Instruction, again bool, err error) {
	now, err := c.link.relocate(ctx, &sentTo)
	if err != nil {
		return nil, false, err
	}
	page, err := c.Instructions(ctx, name, InstructionQuery{Newest: true, Limit: 100})
	if err != nil {
		return nil, false, err
	}
	// Of several that look alike the oldest that no other call of ours was answered with is ours.
	for _, in := range page.Items {
		same := in.Code == e.Code && in.Client.Name == c.name && !in.QueuedAt.Before(sentAt)
		if same && !c.link.isAnswered(in) {
			found = &in
		}
	}
	if found != nil {
		c.link.remember(*found)
	}
	// Another process holds the daemon's lock now, so the one that was asked cannot queue it any more.
	again = found == nil && sentTo.Process != "" && now.Process != sentTo.Process
	return found, again, nil
}

// seqWindow remembers the latest sequence numbers of one machine.
type seqWindow [32]int

// remember notes that a call was answered with this instruction.
func (l *link) remember(in api.Instruction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	window := l.answered[in.Machine]
	window[in.Seq%len(window)] = in.Seq + 1
	l.answered[in.Machine] = window
}

func (l *link) isAnswered(in api.Instruction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	window := l.answered[in.Machine]
	return window[in.Seq%len(window)] == in.Seq+1
}

func instructionPath(name string, seq int) string {
	return machinePath(name, "instructions", strconv.Itoa(seq))
}

func dataURL(mime string) string { return "data:" + mime + ";base64," }

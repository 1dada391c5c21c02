package client

import (
	"context"
	"crypto/rand"
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

// Instruction returns an instruction as it is once it has ended, or after wait at the latest (0: at
// once).
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

// Wait returns an instruction once it has ended, however long that takes and however often the
// daemon is replaced meanwhile.
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

// Stop stops one instruction: it is interrupted if it runs, and taken out of the queue if it waits.
// Another that begins meanwhile is left alone, except by a server that speaks only the public
// protocol, which cannot tell them apart.
func (c *Client) Stop(ctx context.Context, name string, seq int) error {
	for {
		in, err := c.Instruction(ctx, name, seq, 0)
		switch {
		case err != nil || Done(in):
			return err
		case in.Status == "running":
			// Once more does no harm: it is bound to this instruction.
			r := request{method: http.MethodPost, path: machinePath(name, "interrupt"), query: url.Values{"seq": {strconv.Itoa(seq)}}, repeatable: true}
			if _, err = c.call(ctx, r, nil); errors.Is(err, ErrUnsupported) {
				_, err = c.wireInterrupt(ctx, name)
			}
			return err
		}
		if err := c.CancelInstruction(ctx, name, seq); !errors.Is(err, ErrConflict) {
			return err
		} // it began, or ended, at this very moment
	}
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

// Execute queues an instruction and returns it, queued or further. interrupted says whether
// e.Interrupt stopped or cancelled anything. The instruction gets a key unless it has one, so that
// it is sent again after a broken connection without ever running twice; interrupted is not known
// then, and false.
func (c *Client) Execute(ctx context.Context, name string, e api.Execute) (in api.Instruction, interrupted bool, err error) {
	if e.Key == "" {
		e.Key = rand.Text()
	}
	headers, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "instructions"), json: e, repeatable: true}, &in)
	if errors.Is(err, ErrUnsupported) {
		return c.wireExecute(ctx, name, e)
	}
	return in, headers.Get("X-Forevervm-Interrupted") == "true", err
}

func instructionPath(name string, seq int) string {
	return machinePath(name, "instructions", strconv.Itoa(seq))
}

func dataURL(mime string) string { return "data:" + mime + ";base64," }

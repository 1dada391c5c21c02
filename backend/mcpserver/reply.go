package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// smallestPicture is the room (bytes of base64) below which a picture is left out rather than
// shrunk.
const smallestPicture = 12 << 10

// reply answers for an instruction as it is, with what was collected of it.
func (s *Server) reply(ctx context.Context, m Machines, repl string, in api.Instruction, got *collected) *mcp.CallToolResult {
	text, cut := got.screen.text()
	from := got.screen.read // where more output goes on
	if cut {
		from = got.screen.cutAt
	}
	o := s.describe(ctx, m, repl, in, from)
	o.output = text
	if cut {
		o.note(fmt.Sprintf("The middle of the output was left out: read-output with step %d and offset %d has it, and %s the whole.", in.Seq+1, from, outputURI(repl, in.Seq)))
	}
	if client.Done(in) {
		s.pictured.add(in)
	}
	return s.assemble(ctx, m, o, got.pictures)
}

// describe fills in what the instruction itself tells. Output of one that is not done goes on at
// the offset from.
func (s *Server) describe(ctx context.Context, m Machines, repl string, in api.Instruction, from int64) *outcome {
	o := &outcome{repl: repl, seq: in.Seq, status: in.Status, value: in.Value}
	if o.value != nil {
		short, _ := cutMiddle(*o.value, valueLimit)
		o.value = &short
	}
	o.err, _ = cutMiddle(in.Error, valueLimit)
	switch in.Status {
	case "running":
		why := s.waits(ctx, m, repl)
		o.note(why)
		if why == pausedByUser {
			break
		}
		o.note(fmt.Sprintf("The code is still running. To wait for the rest, call read-output with step %d and offset %d. To stop it, call interrupt-python-repl.", in.Seq+1, from))
	case "queued":
		o.note(cmp.Or(s.waits(ctx, m, repl), "The code waits for what runs before it in this REPL."))
		o.note(fmt.Sprintf("To wait for it, call read-output with step %d.", in.Seq+1))
	case "cancelled":
		o.note("The code was cancelled before it ran.")
	}
	o.note(in.Notice)
	if in.OutputDropped > 0 {
		o.note(fmt.Sprintf("%d bytes of output were too much to keep and are gone.", in.OutputDropped))
	}
	return o
}

// pausedByUser is why paused code does not get on.
const pausedByUser = "The user paused this REPL while the code ran. Do not wait: it goes on when the user presses Resume in ForeverVM's window. New code here waits for that, too."

// waits says why a REPL does not get on; empty where nothing keeps it. Other notices of a machine
// on the disk tell of the past.
func (s *Server) waits(ctx context.Context, m Machines, repl string) string {
	now, err := m.Machine(ctx, repl)
	switch {
	case err != nil:
		return ""
	case now.Paused:
		return pausedByUser
	case now.Waits:
		return now.Notice
	case now.State != "running":
		return ""
	}
	waiting, err := asking(ctx, m, repl)
	if err != nil || len(waiting) == 0 {
		return ""
	}
	return fmt.Sprintf("The code wants to reach %s and waits for the user to answer in ForeverVM's window.", onOneLine(waiting[0].Host))
}

// assemble makes the reply of an outcome and its pictures, within the limit of a reply.
func (s *Server) assemble(ctx context.Context, m Machines, o *outcome, pictures []shown) *mcp.CallToolResult {
	// Text first: it may take two thirds.
	for limit := outputLimit; encodedSize(o.text()) > s.opts.ReplyLimit*2/3; limit /= 2 {
		o.output, _ = cutMiddle(o.output, limit)
		o.err, _ = cutMiddle(o.err, limit/2)
		if o.value != nil {
			short, _ := cutMiddle(*o.value, limit/2)
			o.value = &short
		}
	}
	room := s.opts.ReplyLimit - encodedSize(o.text()) - 4096 // for what goes around it
	content, missing := s.pictures(ctx, m, o, pictures, room)
	if missing > 0 {
		o.note(fmt.Sprintf("%d of %d pictures are not in this reply; each is a resource, %s and so on.", missing, len(pictures), plotURI(o.repl, o.seq, 1)))
	}
	if o.text() == "" && len(content) == 0 {
		o.note("Done, no output.")
	}
	if text := o.text(); text != "" {
		content = append([]mcp.Content{mcp.NewTextContent(text)}, content...)
	}
	result := &mcp.CallToolResult{Content: content, IsError: o.status == "error" || o.status == "cancelled"}
	result.Meta = &mcp.Meta{AdditionalFields: map[string]any{resultKey: map[string]any{"machine": o.repl, "seq": o.seq}}}
	return result
}

// encodedSize is how many bytes a value takes in a reply.
func encodedSize(v any) int {
	encoded, _ := json.Marshal(v) // of our own types, and strings
	return len(encoded)
}

// fitting is as many of the items as a reply has room for, counted from the front. Each is there
// twice: in the structured content, and as a line of text, which is shorter.
func fitting[T any](s *Server, items []T) []T {
	size := 4096 // for what goes around them
	for i, item := range items {
		if size += 2*encodedSize(item) + 2; size > s.opts.ReplyLimit {
			return items[:i]
		}
	}
	return items
}

// pictures fetches pictures and makes them fit into room, shared evenly; those that cannot are
// missing. A line in front of each names it, and tells where the person sees it: apps show pictures
// to the model, and hide them from the person.
func (s *Server) pictures(ctx context.Context, m Machines, o *outcome, all []shown, room int) (content []mcp.Content, missing int) {
	type fetched struct {
		picture
		number int // from 1
	}
	var got []fetched
	for i, p := range all {
		if i >= maxPictures || (len(got)+1)*smallestPicture > room {
			missing += len(all) - i
			break
		}
		data, err := m.Data(ctx, p.rep, maxImageBytes)
		if err != nil {
			s.opts.Logger.Warn("a picture could not be fetched", "href", p.rep.Href, "err", err)
			missing++
			continue
		}
		got = append(got, fetched{picture{data: data, mime: p.rep.MIME}, i + 1})
	}
	for i, p := range got {
		share := room / (len(got) - i)
		fitted, err := p.fit(share)
		if err != nil {
			s.opts.Logger.Warn("a picture was left out", "err", err)
			missing++
			continue
		}
		line := fmt.Sprintf("Figure %d.", p.number)
		if len(content) == 0 {
			line = fmt.Sprintf("Figure %d. The user sees the figures in the ForeverVM app: %s", p.number, machineURI(o.repl))
		}
		content = append(content, mcp.NewTextContent(line))
		if s.takesLinks(ctx) {
			uri := plotURI(o.repl, o.seq, p.number)
			content = append(content, mcp.NewResourceLink(uri, fmt.Sprintf("Figure %d of step %d", p.number, o.seq+1), "", p.mime))
		}
		content = append(content, mcp.NewImageContent(base64.StdEncoding.EncodeToString(fitted.data), fitted.mime))
		room -= base64Len(fitted.data) + 512
	}
	return content, missing
}

// failure is a tool's answer to an error of the daemon: a sentence that a model can act on.
func failure(err error, repl string) *mcp.CallToolResult {
	message := err.Error()
	var said *client.Error
	switch {
	case errors.As(err, &said) && said.Code == "MachineNotFound":
		message = fmt.Sprintf("There is no REPL %q. Call list-python-repls to see which ones there are, or create-python-repl to make a new one.", repl)
	case errors.Is(err, client.ErrUnauthorized):
		message = "ForeverVM refused the token. Ask the user to open the ForeverVM app, or to run `forevervm doctor`. (" + message + ")"
	case errors.Is(err, client.ErrDropped) && repl != "":
		message += " Call read-output to see the REPL's latest instruction."
	case errors.Is(err, client.ErrDropped):
		message += " Call list-python-repls to see what there is."
	case errors.Is(err, context.DeadlineExceeded):
		message = "ForeverVM did not answer in time. Try again; if it happens again, ask the user to run `forevervm doctor`."
	}
	return mcp.NewToolResultError(message)
}

// pieceEnd is where a piece of a text that is too long should end: after its last line, else at the
// boundary of a character.
func pieceEnd(data []byte) int {
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
		return i + 1
	}
	return len(wholeRunes(data))
}

// wholeRunes is data without a character at its end that is cut off.
func wholeRunes(data []byte) []byte {
	for i := len(data) - 1; i >= 0 && i >= len(data)-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return data[:i]
			}
			break
		}
	}
	return data
}

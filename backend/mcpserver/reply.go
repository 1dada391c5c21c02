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
	o := s.describe(ctx, m, repl, in)
	text, cut := got.screen.text()
	o.Output = text
	switch {
	case cut:
		next := got.screen.cutAt
		o.NextOffset = &next
		o.addNote(fmt.Sprintf("The middle of the output was left out. To read it, call read-output with seq %d and offset %d; the whole is the resource %s.", in.Seq, next, outputURI(repl, in.Seq)))
	case !client.Done(in):
		next := got.screen.read
		o.NextOffset = &next
	}
	if client.Done(in) {
		s.pictured.add(in)
	}
	return s.assemble(ctx, m, o, got.pictures)
}

// describe fills in what the instruction itself tells.
func (s *Server) describe(ctx context.Context, m Machines, repl string, in api.Instruction) outcome {
	o := outcome{ReplID: repl, Seq: in.Seq, Status: in.Status, Result: in.Value, Error: in.Error}
	if o.Result != nil {
		if short, cut := cutMiddle(*o.Result, valueLimit); cut {
			o.Result = &short
		}
	}
	o.Error, _ = cutMiddle(o.Error, valueLimit)
	switch in.Status {
	case "running":
		o.addNote(fmt.Sprintf("The code is still running. Call read-output with replId %q and seq %d to wait for the rest, or interrupt-python-repl to stop it.", repl, in.Seq))
	case "queued":
		o.addNote(cmp.Or(s.waits(ctx, m, repl), "The code waits for what runs before it in the same REPL."))
		o.addNote(fmt.Sprintf("Call read-output with replId %q and seq %d to wait for it.", repl, in.Seq))
	case "cancelled":
		o.addNote("The code was cancelled before it ran.")
	}
	o.addNote(in.Notice)
	if in.OutputDropped > 0 {
		o.addNote(fmt.Sprintf("%d bytes of output were too much to keep and are gone.", in.OutputDropped))
	}
	return o
}

// waits says why a REPL does not run what it is to run; empty where nothing keeps it. Other notices
// of a machine on the disk tell of the past.
func (s *Server) waits(ctx context.Context, m Machines, repl string) string {
	now, err := m.Machine(ctx, repl)
	if err != nil || !now.Waits {
		return ""
	}
	return now.Notice
}

func (o *outcome) addNote(sentence string) {
	if sentence == "" {
		return
	}
	if o.Note != "" {
		o.Note += " "
	}
	o.Note += sentence
}

// assemble makes the reply of an outcome and its pictures, within the limit of a reply.
func (s *Server) assemble(ctx context.Context, m Machines, o outcome, pictures []shown) *mcp.CallToolResult {
	// Text first: it may take two thirds, in both of its forms together.
	for limit := outputLimit; textSize(o) > s.opts.ReplyLimit*2/3; limit /= 2 {
		o.Output, _ = cutMiddle(o.Output, limit)
		o.Error, _ = cutMiddle(o.Error, limit/2)
		if o.Result != nil {
			short, _ := cutMiddle(*o.Result, limit/2)
			o.Result = &short
		}
	}
	room := s.opts.ReplyLimit - textSize(o) - 4096 // for what goes around it
	content, missing := s.pictures(ctx, m, pictures, room)
	if missing > 0 {
		o.addNote(fmt.Sprintf("%d of %d pictures are not in this reply; each is a resource, %s and so on.", missing, len(pictures), plotURI(o.ReplID, o.Seq, 1)))
	}
	text, err := json.Marshal(o)
	if err != nil {
		return mcp.NewToolResultErrorFromErr("the reply could not be encoded", err)
	}
	return &mcp.CallToolResult{
		Content:           append([]mcp.Content{mcp.NewTextContent(string(text))}, content...),
		StructuredContent: o,
		IsError:           o.Status == "error" || o.Status == "cancelled",
	}
}

// textSize is how many bytes of the reply a value takes: as structured content, and again as text,
// where what was escaped is escaped again.
func textSize(v any) int {
	once, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	twice, err := json.Marshal(string(once))
	if err != nil {
		return 0
	}
	return len(once) + len(twice)
}

// fitting is as many of the items as a reply has room for, counted from the front.
func fitting[T any](s *Server, items []T) []T {
	size := 4096 // for what goes around them
	for i, item := range items {
		if size += textSize(item) + 2; size > s.opts.ReplyLimit {
			return items[:i]
		}
	}
	return items
}

// pictures fetches pictures and makes them fit into room, shared evenly; those that cannot are
// missing.
func (s *Server) pictures(ctx context.Context, m Machines, all []shown, room int) (content []mcp.Content, missing int) {
	var fetched []picture
	for i, p := range all {
		if i >= maxPictures || (len(fetched)+1)*smallestPicture > room {
			missing += len(all) - i
			break
		}
		data, err := m.Data(ctx, p.rep, maxImageBytes)
		if err != nil {
			s.opts.Logger.Warn("a picture could not be fetched", "href", p.rep.Href, "err", err)
			missing++
			continue
		}
		fetched = append(fetched, picture{data: data, mime: p.rep.MIME})
	}
	for i, p := range fetched {
		share := room / (len(fetched) - i)
		fitted, err := p.fit(share)
		if err != nil {
			s.opts.Logger.Warn("a picture was left out", "err", err)
			missing++
			continue
		}
		room -= base64Len(fitted.data) + 128
		content = append(content, mcp.NewImageContent(base64.StdEncoding.EncodeToString(fitted.data), fitted.mime))
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

package link

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// toFrame checks a frame of the runner's and makes the domain's of it.
func toFrame(f protocol.Frame) (machine.Frame, error) {
	in, err := protocol.ParseInstruction(f)
	if err != nil {
		return machine.Frame{}, err
	}
	out := machine.Frame{Seq: in.Seq, Index: in.Index}
	switch in.Type {
	case protocol.TypeStarted:
		out.Type, out.At = machine.FrameStarted, in.At
	case protocol.TypeOutput:
		out.Type = machine.FrameItem
		out.Item = machine.Item{Index: in.Index, Kind: machine.ItemOutput, Stream: in.Stream, Text: in.Data}
	case protocol.TypeBackground:
		out.Type = machine.FrameBackground
		out.Seq, out.Index = 0, 0
		out.Item = machine.Item{Kind: machine.ItemOutput, Stream: in.Stream, Text: in.Data, Background: true}
	case protocol.TypeDisplay:
		out.Type = machine.FrameItem
		out.Item = machine.Item{
			Index: in.Index, Kind: machine.ItemDisplay, DisplayID: in.DisplayID, Update: in.Update,
			Representations: representations(in.MIMEs),
		}
	case protocol.TypeClear:
		out.Type = machine.FrameItem
		out.Item = machine.Item{Index: in.Index, Kind: machine.ItemClear, Wait: in.Wait}
	case protocol.TypeResult:
		out.Type, out.Result = machine.FrameResult, toResult(in)
	}
	return out, nil
}

// toResult takes the parts of a result that have a place of their own out of its representations.
func toResult(in protocol.Instruction) machine.Result {
	r := machine.Result{Runtime: in.Runtime, OK: in.OK, ErrorName: plain(in.ErrorName, maxSentence), Truncated: in.Truncated}
	for i, m := range in.MIMEs {
		switch {
		case in.OK && i == 0 && m.MIME == "text/plain":
			value := text(string(m.Data))
			r.Value = &value
		case in.OK:
			r.Data = append(r.Data, machine.Representation{MIME: m.MIME, Data: m.Data})
		case m.MIME == "text/plain":
			r.Error = text(string(m.Data))
		case m.MIME == "text/x-ansi":
			r.ErrorANSI = text(string(m.Data))
		}
	}
	return r
}

func representations(list []protocol.Representation) []machine.Representation {
	out := make([]machine.Representation, len(list))
	for i, r := range list {
		out[i] = machine.Representation{MIME: r.MIME, Data: r.Data}
	}
	return out
}

// text makes valid UTF-8 of what a machine said.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Bounds of what is shown in one line, in bytes.
const (
	maxSentence = 1000
	maxVersion  = 64
)

// plain makes one line of at most n bytes of what may be a machine's words: whatever is neither a
// visible character nor a space, and so could move the cursor, turn the direction of writing, or
// hide, becomes a space.
func plain(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, text(clip(s, 4*n)))
	return clip(strings.Join(strings.Fields(s), " "), n)
}

// clip bounds a text to n bytes, at a character's boundary.
func clip(s string, n int) string {
	s = text(s)
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

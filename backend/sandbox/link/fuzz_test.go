package link

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// FuzzFrames reads whatever a supervisor says on the stream of frames as the domain would be given
// it.
func FuzzFrames(f *testing.F) {
	for _, s := range []struct{ typ, header, payload string }{
		{"started", `{"seq":3,"index":0,"at":1750000000.25}`, ""},
		{"output", `{"seq":3,"index":1,"stream":"stdout"}`, "\xff\x1b[2J"},
		{"background", `{"stream":"stderr"}`, "x"},
		{"display", `{"seq":3,"index":2,"mimes":[["text/html",3],["image/png",2]],"metadata":{},"display_id":"\u202e","update":true}`, "<b>\x89P"},
		{"clear", `{"seq":3,"index":3,"wait":true}`, ""},
		{"result", `{"seq":3,"index":4,"runtime_ms":1,"status":"ok","mimes":[["text/plain",2],["a/b",1]],"truncated":false}`, "\xff2x"},
		{"result", `{"seq":3,"index":4,"status":"error","ename":"E\u001b","evalue":"v","mimes":[["text/plain",1],["text/x-ansi",1]]}`, "a\xff"},
		{"ended", `{"cause":"stopped","detail":"d","checkpoint":{"format":1,"id":"00000001-0000000000000000","created_at":"2026-01-02T03:04:05Z","last_seq":3,"size":5}}`, ""},
		{"ended", `{"cause":"memory","detail":"\u001b[2J\u202e"}`, ""},
		{"surprise", `{}`, ""},
	} {
		f.Add(s.typ, []byte(s.header), []byte(s.payload))
	}
	f.Fuzz(func(t *testing.T, typ string, header, payload []byte) {
		frame := protocol.Frame{Type: typ, Header: header, Payload: payload}
		if typ == protocol.TypeEnded {
			look(t, ended(frame).Detail, maxSentence)
			return
		}
		out, err := toFrame(frame)
		if err != nil {
			return
		}
		if out.Seq < 0 || out.Index < 0 || out.Seq > protocol.MaxSeq || out.Index > protocol.MaxSeq {
			t.Fatalf("the number %d/%d", out.Seq, out.Index)
		}
		look(t, out.Result.ErrorName, maxSentence)
		texts := []string{out.Result.Error, out.Result.ErrorANSI}
		if out.Result.Value != nil {
			texts = append(texts, *out.Result.Value)
		}
		for _, s := range texts {
			if !utf8.ValidString(s) {
				t.Fatalf("%q is no text", s)
			}
		}
		if out.Type == machine.FrameItem && out.Item.Kind == "" {
			t.Fatalf("an item of no kind: %+v", out.Item)
		}
	})
}

// look sees to it that something is one line that acts on nothing.
func look(t *testing.T, line string, most int) {
	if len(line) > most || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		t.Fatalf("%q is shown in one line", line)
	}
}

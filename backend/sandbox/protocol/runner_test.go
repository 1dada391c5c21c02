package protocol

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func frame(typ, header, payload string) Frame {
	return Frame{Type: typ, Header: []byte(header), Payload: []byte(payload)}
}

func TestParseInstruction(t *testing.T) {
	in, err := ParseInstruction(frame("started", `{"type":"started","seq":3,"index":0,"at":1750000000.25}`, ""))
	if err != nil || in.Seq != 3 || !in.At.Equal(time.Unix(1750000000, 250e6)) {
		t.Errorf("started: %+v, %v", in, err)
	}
	in, err = ParseInstruction(frame("output", `{"seq":3,"index":1,"stream":"stderr"}`, "\xff\x00"))
	if err != nil || in.Stream != "stderr" || string(in.Data) != "\xff\x00" {
		t.Errorf("output: %+v, %v", in, err)
	}
	in, err = ParseInstruction(frame("display", `{"seq":3,"index":2,"mimes":[["text/html",3],["image/png",2]],"display_id":"d","update":true}`, "<b>\x89P"))
	if err != nil || len(in.MIMEs) != 2 || string(in.MIMEs[0].Data) != "<b>" || in.MIMEs[1].MIME != "image/png" || string(in.MIMEs[1].Data) != "\x89P" || !in.Update || in.DisplayID != "d" {
		t.Errorf("display: %+v, %v", in, err)
	}
	in, err = ParseInstruction(frame("result", `{"seq":3,"index":4,"status":"error","ename":"ValueError","runtime_ms":12.5,"mimes":[["text/plain",1]],"truncated":true}`, "x"))
	if err != nil || in.OK || in.ErrorName != "ValueError" || in.Runtime != 12500*time.Microsecond || !in.Truncated {
		t.Errorf("result: %+v, %v", in, err)
	}
}

func TestParseInstructionRefuses(t *testing.T) {
	long := strings.Repeat("x", 70<<10)
	for name, f := range map[string]Frame{
		"no seq":               frame("started", `{"index":0,"at":1}`, ""),
		"negative seq":         frame("started", `{"seq":-1,"index":0,"at":1}`, ""),
		"negative index":       frame("output", `{"seq":1,"index":-5,"stream":"stdout"}`, ""),
		"huge seq":             frame("output", `{"seq":1e18,"index":0,"stream":"stdout"}`, ""),
		"seq of text":          frame("output", `{"seq":"1","index":0,"stream":"stdout"}`, ""),
		"another stream":       frame("output", `{"seq":1,"index":1,"stream":"stdin"}`, ""),
		"background of none":   frame("background", `{"stream":""}`, ""),
		"too much output":      frame("output", `{"seq":1,"index":1,"stream":"stdout"}`, long),
		"time far away":        frame("started", `{"seq":1,"index":0,"at":1e300}`, ""),
		"mimes beyond":         frame("display", `{"seq":1,"index":1,"mimes":[["text/plain",10]]}`, "x"),
		"mimes negative":       frame("display", `{"seq":1,"index":1,"mimes":[["text/plain",-1]]}`, ""),
		"mimes short":          frame("display", `{"seq":1,"index":1,"mimes":[["text/plain",1]]}`, "xy"),
		"mimes that wrap":      frame("display", `{"seq":1,"index":1,"mimes":[["a",9223372036854775807],["b",9223372036854775807],["c",3]]}`, "x"),
		"a large mime":         frame("display", `{"seq":1,"index":1,"mimes":[["text/plain",4194305]]}`, strings.Repeat("x", 4<<20+1)),
		"mime of three":        frame("display", `{"seq":1,"index":1,"mimes":[["text/plain",1,2]]}`, "x"),
		"mime without name":    frame("display", `{"seq":1,"index":1,"mimes":[["",1]]}`, "x"),
		"mime with a line end": frame("display", `{"seq":1,"index":1,"mimes":[["text/plain\r\nX: y",1]]}`, "x"),
		"many mimes":           frame("display", `{"seq":1,"index":1,"mimes":[`+strings.Repeat(`["a",0],`, 100)+`["a",0]]}`, ""),
		"status unknown":       frame("result", `{"seq":1,"index":1,"status":"fine","mimes":[]}`, ""),
		"time negative":        frame("result", `{"seq":1,"index":1,"status":"ok","mimes":[],"runtime_ms":-1}`, ""),
		"name endless":         frame("result", `{"seq":1,"index":1,"status":"error","ename":"`+long+`","mimes":[]}`, ""),
		"type unknown":         frame("surprise", `{"seq":1,"index":1}`, ""),
	} {
		if in, err := ParseInstruction(f); !errors.Is(err, ErrViolation) {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
}

// What is claimed again and again counts once.
func TestParseReadyCompacts(t *testing.T) {
	r, err := ParseReady(frame("ready", `{"last_seq":9,"queued":[8,9,9,8,8]}`, ""))
	if err != nil || !slices.Equal(r.Queued, []int{8, 9}) {
		t.Errorf("queued: %v, %v", r.Queued, err)
	}
}

func TestParseReadyRefuses(t *testing.T) {
	for name, header := range map[string]string{
		"last_seq below -1": `{"last_seq":-2}`,
		"running negative":  `{"last_seq":1,"running":-1}`,
		"queued negative":   `{"last_seq":1,"queued":[-1]}`,
		"baseline negative": `{"last_seq":1,"baseline_bytes":-1}`,
		"python endless":    `{"python":"` + strings.Repeat("3", 5000) + `"}`,
		"queued endless":    `{"queued":[` + strings.Repeat("1,", 256) + `1]}`,
	} {
		if r, err := ParseReady(frame("ready", header, "")); !errors.Is(err, ErrViolation) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

package wire_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forevervm/desktop/backend/wire"
)

func ptr[T any](v T) *T { return &v }

// What the SDKs get, to the byte.
func TestMessagesAreTheSDKs(t *testing.T) {
	for _, test := range []struct {
		message wire.FromServer
		want    string
	}{
		{wire.Connected{MachineName: "brave-otter-42"}, `{"type":"connected","machine_name":"brave-otter-42"}`},
		{wire.ExecReceived{Seq: 3, RequestID: 7}, `{"type":"exec_received","seq":3,"request_id":7}`},
		{
			wire.Output{InstructionID: 3, Chunk: wire.Chunk{Stream: "stdout", Data: "a<b>\té", Seq: 0}},
			`{"type":"output","instruction_id":3,"chunk":{"stream":"stdout","data":"a<b>\té","seq":0}}`,
		},
		{
			wire.Result{InstructionID: 3, Result: wire.ExecResult{RuntimeMS: 12, Value: ptr("4")}},
			`{"type":"result","instruction_id":3,"result":{"runtime_ms":12,"value":"4"}}`,
		},
		{wire.SocketError{Code: "InvalidMessage"}, `{"type":"error","code":"InvalidMessage","id":null}`},
		{wire.Message{Message: "hello", Level: "warn"}, `{"type":"message","message":"hello","level":"warn"}`},
	} {
		got, err := wire.Encode(test.message)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != test.want {
			t.Errorf("encoded\n%s, want\n%s", got, test.want)
		}
		back, err := wire.Decode(got)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, test.message) {
			t.Errorf("read back as %#v, want %#v", back, test.message)
		}
	}
	if _, err := wire.Decode([]byte(`{"type":"ping"}`)); err == nil {
		t.Error("a message of unknown type was accepted")
	}
}

func TestResultKeys(t *testing.T) {
	for name, test := range map[string]struct {
		result wire.ExecResult
		want   string
	}{
		"value":            {wire.ExecResult{RuntimeMS: 1, Value: ptr("'x'")}, `{"runtime_ms":1,"value":"'x'"}`},
		"none":             {wire.ExecResult{RuntimeMS: 1}, `{"runtime_ms":1,"value":null}`},
		"empty data":       {wire.ExecResult{Value: ptr("1"), Data: &wire.Data{}}, `{"runtime_ms":0,"value":"1"}`},
		"plot":             {wire.ExecResult{Data: &wire.Data{PNG: []byte{0x89, 'P', 'N', 'G'}}}, `{"runtime_ms":0,"value":null,"data":{"png":"iVBORw=="}}`},
		"json":             {wire.ExecResult{Data: &wire.Data{JSON: json.RawMessage(`{"a":1}`)}}, `{"runtime_ms":0,"value":null,"data":{"json":{"a":1}}}`},
		"error":            {wire.ExecResult{RuntimeMS: 2, Error: ptr("boom")}, `{"runtime_ms":2,"error":"boom"}`},
		"an empty error":   {wire.ExecResult{RuntimeMS: 2, Error: ptr("")}, `{"runtime_ms":2,"error":""}`},
		"error with value": {wire.ExecResult{Error: ptr("boom"), Value: ptr("1"), Data: &wire.Data{HTML: "x"}}, `{"runtime_ms":0,"error":"boom"}`},
		"notice":           {wire.ExecResult{Value: ptr("1"), Notice: "went back"}, `{"runtime_ms":0,"value":"1","notice":"went back"}`},
	} {
		got, err := json.Marshal(test.result)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	var hosted wire.ExecResult
	if err := json.Unmarshal([]byte(`{"runtime_ms":5,"value":"3","data":null}`), &hosted); err != nil {
		t.Fatal(err)
	}
	if hosted.Data != nil || *hosted.Value != "3" {
		t.Errorf("a hosted result was read as %+v", hosted)
	}
}

func TestMachineHasBothPendingKeys(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	machine := wire.Machine{
		Name: "m", CreatedAt: time.Date(2026, 11, 20, 11, 0, 0, 0, berlin), Running: true, Pending: true,
	}
	got, err := json.Marshal(machine)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"m","created_at":"2026-11-20T10:00:00Z","running":true,"has_pending_instruction":true,` +
		`"has_pending_instructions":true,"expires_at":null,"tags":{}}`
	if string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, key := range []string{"has_pending_instruction", "has_pending_instructions"} {
		var back wire.Machine
		if err := json.Unmarshal([]byte(`{"name":"m","`+key+`":true}`), &back); err != nil {
			t.Fatal(err)
		}
		if !back.Pending {
			t.Errorf("%s alone was not understood", key)
		}
	}
}

func TestASCII(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"b"}`:   `{"a":"b"}`,
		`"é"`:         `"\u00e9"`,
		`"a😀b"`:       `"a\ud83d\ude00b"`,
		"\"\u2028\"":  `"\u2028"`,
		"\"\uFFFDx\"": `"\ufffdx"`,
	} {
		if got := string(wire.ASCII([]byte(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		plain, _ := json.Marshal(text)
		escaped := wire.ASCII(plain)
		for _, b := range escaped {
			if b >= 0x80 {
				t.Fatalf("%q holds a byte beyond ASCII", escaped)
			}
		}
		var back, want string
		if err := json.Unmarshal(escaped, &back); err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal(plain, &want)
		if back != want {
			t.Fatalf("%q came back as %q", want, back)
		}
	})
}

func TestFitKeepsMessagesBelowTheLimit(t *testing.T) {
	big := wire.ExecResult{
		Value: ptr(strings.Repeat("\x01", 1<<20)),
		Data: &wire.Data{
			PNG:  make([]byte, 4<<20),
			HTML: strings.Repeat("é", 2<<20),
			SVG:  "<svg/>",
		},
	}
	big.Fit()
	if big.Data.SVG == "" {
		t.Error("a small form was lost beside large ones")
	}
	checkSize(t, big)

	plot := wire.ExecResult{Value: ptr("<Figure>"), Data: &wire.Data{PNG: make([]byte, 4<<20), HTML: strings.Repeat("x", 4<<20)}}
	plot.Fit()
	if plot.Data.PNG == nil {
		t.Error("the picture was lost although it fits")
	}
	if plot.Data.HTML != "" {
		t.Error("the HTML was kept although it does not fit beside the picture")
	}
	checkSize(t, plot)

	long := "begin" + strings.Repeat("😀", 1<<20) + "end"
	failed := wire.ExecResult{Error: &long}
	failed.Fit()
	if !strings.HasPrefix(*failed.Error, "begin") || !strings.HasSuffix(*failed.Error, "end") || !strings.Contains(*failed.Error, "left out") {
		t.Error("the beginning and the end of a long error must stay, with a note between them")
	}
	checkSize(t, failed)

	small := wire.ExecResult{Value: ptr("ok")}
	small.Fit()
	if *small.Value != "ok" {
		t.Errorf("a small value became %q", *small.Value)
	}
}

func checkSize(t *testing.T, r wire.ExecResult) {
	t.Helper()
	data, err := wire.Encode(wire.Result{Result: r})
	if err != nil {
		t.Fatal(err)
	}
	if size := len(wire.ASCII(data)); size >= wire.MaxMessage {
		t.Errorf("the message has %d bytes, the limit is %d", size, wire.MaxMessage)
	}
}

// A line of output is written by hand where that is easy, and must be what encoding/json writes.
func FuzzEncodeOutput(f *testing.F) {
	for _, text := range []string{"", "plain", `"quoted" \`, "tab\t", "<b>&amp;</b>", "é", "\x7f", "a\u2028b"} {
		f.Add(3, text, 12)
	}
	f.Fuzz(func(t *testing.T, instruction int, text string, seq int) {
		out := wire.Output{InstructionID: instruction, Chunk: wire.Chunk{Stream: "stdout", Data: text, Seq: seq}}
		got, err := wire.Encode(out)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(struct {
			Type string `json:"type"`
			wire.Output
		}{"output", out}); err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != want.String() {
			t.Errorf("wrote %s, want %s", got, want.String())
		}
	})
}

// And it is read by hand: what it says must be what encoding/json reads, and what that refuses must
// be refused.
func FuzzDecodeOutput(f *testing.F) {
	for _, message := range []string{
		`{"type":"output","instruction_id":3,"chunk":{"stream":"stdout","data":"plain","seq":12}}`,
		`{"type":"output","instruction_id":3,"chunk":{"stream":"stdout","data":"a \"b\" \u00e9","seq":12}}`,
		`{"type":"output","instruction_id":3,"chunk":{"stream":"stderr","data":"\",\"seq\":1}}","seq":12}}`,
		`{"type":"output","instruction_id":03,"chunk":{"stream":"stdout","data":"","seq":12}}`,
		`{"type":"output","instruction_id":-3,"chunk":{"stream":"stdout","data":"","seq":+12}}`,
		`{"type":"output","instruction_id":3,"chunk":{"stream":"other","data":"","seq":1}} `,
		`x{"type":"output","instruction_id":3,"chunk":{"stream":"stdout","data":"","seq":1}}`,
		`{"type":"output","instruction_id":3,"chunk":{"stream":"stdout","data":"","seq":1}},"data":"","seq":2}}`,
		`{"type":"output","chunk":{"seq":2,"data":"other order","stream":"stdout"},"instruction_id":1}`,
	} {
		f.Add([]byte(message))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		var want struct {
			Type string `json:"type"`
			wire.Output
		}
		failed := json.Unmarshal(message, &want)
		got, err := wire.Decode(message)
		if (err != nil) != (failed != nil) && (failed != nil || want.Type == wire.TypeOutput) {
			t.Fatalf("%q: error %v, of encoding/json %v", message, err, failed)
		}
		if out, ok := got.(wire.Output); err == nil && ok && out != want.Output {
			t.Errorf("%q was read as %+v, want %+v", message, out, want.Output)
		}
	})
}

func BenchmarkDecodeOutput(b *testing.B) {
	message := []byte(`{"type":"output","instruction_id":3,"chunk":{"stream":"stdout","data":"12345","seq":12345}}`)
	for b.Loop() {
		if _, err := wire.Decode(message); err != nil {
			b.Fatal(err)
		}
	}
}

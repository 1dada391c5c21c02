//go:build real

package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/wire"
)

func instructionPath(name string, seq int) string {
	return "/api/machines/" + name + "/instructions/" + strconv.Itoa(seq)
}

func wirePath(name string, seq int, rest string) string {
	return "/v1/machine/" + name + "/exec/" + strconv.Itoa(seq) + "/" + rest
}

// exec runs code as the SDKs do over REST and returns its result.
func (c *caller) exec(name, code string, timeout float64) wire.ExecResultResponse {
	c.t.Helper()
	queued := as[wire.ExecResponse](c, c.send("POST", "/v1/machine/"+name+"/exec", wire.Exec{Instruction: wire.Instruction{Code: code, TimeoutSeconds: &timeout}}))
	if queued.Machine != name {
		c.t.Errorf("exec on %s says machine %q", name, queued.Machine)
	}
	result := as[wire.ExecResultResponse](c, c.send("GET", wirePath(name, queued.InstructionSeq, "result"), nil))
	if result.InstructionSeq != queued.InstructionSeq || result.InstructionID != queued.InstructionSeq {
		c.t.Errorf("instruction %d answers as %d/%d", queued.InstructionSeq, result.InstructionSeq, result.InstructionID)
	}
	return result
}

func TestWireOverREST(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	if who := as[wire.Whoami](c, c.send("GET", "/v1/whoami", nil)); who.Account == "" {
		t.Error("whoami names nobody")
	}
	tag := map[string]string{"test": t.Name()}
	name := as[wire.NewMachineResponse](c, c.send("POST", "/v1/machine/new", wire.NewMachine{Tags: tag, MemoryMB: 1024})).MachineName
	defer c.send("DELETE", "/api/machines/"+name+"?purge=true", nil)
	for i, test := range []struct {
		code, value string
		null        bool
	}{
		{code: "x = 20", null: true},
		{code: "x + 1", value: "21"},
		{code: "for i in range(10): print(i)\n'done'", value: "'done'"},
		{code: "", null: true},
		{code: "'é😀'", value: "'é😀'"},
	} {
		result := c.exec(name, test.code, 30)
		if result.InstructionSeq != i {
			t.Errorf("instruction %d has the number %d", i, result.InstructionSeq)
		}
		switch value := result.Result.Value; {
		case result.Result.Error != nil:
			t.Errorf("%q failed: %s", test.code, *result.Result.Error)
		case test.null && value != nil:
			t.Errorf("%q has the value %s", test.code, *value)
		case !test.null && (value == nil || *value != test.value):
			t.Errorf("%q has the value %v, want %s", test.code, value, test.value)
		case result.Result.Data != nil:
			t.Errorf("%q has data", test.code)
		}
	}
	for _, list := range []answer{
		c.send("POST", "/v1/machine/list", wire.ListMachines{Tags: tag}), c.send("GET", "/v1/machine/list", nil),
		c.send("POST", "/v1/machine/list", nil),
	} {
		found := 0
		for _, m := range as[wire.ListMachinesResponse](c, list).Machines {
			if m.Name != name {
				continue
			}
			found++
			if !m.Running || m.Pending || !reflect.DeepEqual(m.Tags, tag) || m.ExpiresAt != nil || m.CreatedAt.IsZero() {
				t.Errorf("%+v", m)
			}
		}
		if found != 1 {
			t.Errorf("%s %s lists the machine %d times", list.Request.Method, list.Request.URL, found)
		}
	}
	if none := as[wire.ListMachinesResponse](c, c.send("POST", "/v1/machine/list", wire.ListMachines{Tags: map[string]string{"test": "other"}})); len(none.Machines) != 0 {
		t.Errorf("a tag that nobody has finds %+v", none.Machines)
	}
}

func TestWireErrors(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	zero, negative := 0.0, -1.0
	c.fails(c.send("POST", "/v1/machine/nobody-here/exec", wire.Exec{Instruction: wire.Instruction{Code: "1"}}), 404, "MachineNotFound")
	c.fails(c.send("GET", wirePath("nobody-here", 0, "result"), nil), 404, "MachineNotFound")
	c.fails(c.send("GET", wirePath(name, 99, "result"), nil), 404, "InstructionNotFound")
	c.fails(c.send("GET", wirePath(name, 99, "stream-result"), nil), 404, "InstructionNotFound")
	c.fails(c.send("GET", "/v1/machine/"+name+"/exec/x/result", nil), 400, "Invalid")
	c.fails(c.send("POST", "/v1/machine/"+name+"/exec", wire.Exec{Instruction: wire.Instruction{Code: "1", TimeoutSeconds: &zero}}), 400, "Invalid")
	c.fails(c.send("POST", "/v1/machine/"+name+"/exec", wire.Exec{Instruction: wire.Instruction{Code: "1", TimeoutSeconds: &negative}}), 400, "Invalid")
	c.fails(c.send("POST", "/v1/machine/"+name+"/exec", strings.NewReader("{")), 400, "Invalid")
	c.fails(c.send("POST", "/v1/machine/"+name+"/exec", strings.NewReader(`{"instruction":{"code":1}}`)), 400, "Invalid")
	c.fails(c.send("POST", "/v1/machine/new", wire.NewMachine{MemoryMB: -1}), 400, "Invalid")
	c.fails(c.send("GET", "/v1/machine/"+name+"/repl", nil), 426, "UpgradeRequired")
	c.fails(c.send("POST", "/v1/machine/"+name+"/exec", bytes.NewReader(append([]byte(`{"instruction":{"code":"`), bytes.Repeat([]byte("a"), 9<<20)...))), 413, "TooLarge")

	result := c.exec(name, "1/0", 30).Result
	if result.Error == nil || !strings.Contains(*result.Error, "ZeroDivisionError") || strings.Contains(*result.Error, "\x1b") {
		t.Errorf("%+v", result)
	}
	raw := c.send("GET", wirePath(name, 0, "result"), nil).body
	if !bytes.Contains(raw, []byte(`"error"`)) || bytes.Contains(raw, []byte(`"value"`)) {
		t.Errorf("an error result has the keys of %s", raw)
	}
	late := c.exec(name, "y = 1\nimport time\nwhile True: time.sleep(0.01)", 0.5).Result
	if late.Error == nil || !strings.Contains(*late.Error, "Timed out") {
		t.Errorf("%+v", late)
	}
	if after := c.exec(name, "y", 30).Result; after.Value == nil || *after.Value != "1" {
		t.Errorf("after a timeout: %+v", after)
	}
}

func TestWireInterrupt(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	post := func(code string, interrupt bool) wire.ExecResponse {
		timeout := 100.0
		return as[wire.ExecResponse](c, c.send("POST", "/v1/machine/"+name+"/exec", wire.Exec{Instruction: wire.Instruction{Code: code, TimeoutSeconds: &timeout}, Interrupt: interrupt}))
	}
	post("print('on', flush=True)\nimport time\ntime.sleep(100)", false)
	post("2", false)
	until(t, "the first to run", func() bool {
		return strings.Contains(string(c.send("GET", instructionPath(name, 0)+"/output", nil).body), "on")
	})
	third := post("3", true)
	if !third.Interrupted {
		t.Error("nothing was interrupted")
	}
	for seq, want := range []string{"KeyboardInterrupt", "Cancelled"} {
		result := as[wire.ExecResultResponse](c, c.send("GET", wirePath(name, seq, "result"), nil)).Result
		if result.Error == nil || !strings.Contains(*result.Error, want) {
			t.Errorf("instruction %d: %+v, want %s", seq, result, want)
		}
	}
	if result := as[wire.ExecResultResponse](c, c.send("GET", wirePath(name, 2, "result"), nil)).Result; result.Value == nil || *result.Value != "3" {
		t.Errorf("%+v", result)
	}
	if again := post("4", true); again.Interrupted {
		t.Error("an idle machine was interrupted")
	}
}

// messages reads newline-delimited JSON, all of which must be plain ASCII.
func messages(t *testing.T, body []byte) []wire.FromServer {
	t.Helper()
	var out []wire.FromServer
	for line := range strings.Lines(string(body)) {
		for _, b := range []byte(line) {
			if b >= 0x80 {
				t.Fatalf("not ASCII: %q", line)
			}
		}
		m, err := wire.Decode([]byte(line))
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		out = append(out, m)
	}
	return out
}

func TestWireStream(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	code := `import sys
for i in range(3): print("é", i)
sys.stdout.flush()
print("oops", file=sys.stderr, flush=True)
for i in range(50): sys.stdout.write(f"\r{i}%")
sys.stdout.flush()
"end😀"`
	timeout := 30.0
	for range 2 { // while it runs, and once more afterwards
		c.send("POST", "/v1/machine/"+name+"/exec", wire.Exec{Instruction: wire.Instruction{Code: code, TimeoutSeconds: &timeout}})
	}
	for seq := range 2 {
		for range 2 {
			var stdout, stderr []string
			got := messages(t, c.send("GET", wirePath(name, seq, "stream-result"), nil).body)
			for i, m := range got[:len(got)-1] {
				output, ok := m.(wire.Output)
				if !ok || output.InstructionID != seq || output.Chunk.Seq != i {
					t.Fatalf("message %d is %+v", i, m)
				}
				if output.Chunk.Stream == "stderr" {
					stderr = append(stderr, output.Chunk.Data)
				} else {
					stdout = append(stdout, output.Chunk.Data)
				}
			}
			if want := []string{"é 0", "é 1", "é 2", "49%"}; !reflect.DeepEqual(stdout, want) || !reflect.DeepEqual(stderr, []string{"oops"}) {
				t.Errorf("stdout %q, want %q; stderr %q", stdout, want, stderr)
			}
			result, ok := got[len(got)-1].(wire.Result)
			if !ok || result.InstructionID != seq || result.Result.Value == nil || *result.Result.Value != "'end😀'" {
				t.Errorf("the last message is %+v", got[len(got)-1])
			}
		}
	}
}

func TestWirePlot(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	for code, png := range map[string]bool{
		"import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n5":            true, // shown, the value is plain
		"import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone":                     true, // not even shown
		"import pandas as pd\npd.DataFrame({'a': [1]})":                               false,
		"import matplotlib.pyplot as plt\nplt.plot([1, 2])\nraise ValueError('late')": false,
	} {
		result := c.exec(name, code, 60).Result
		has := result.Data != nil && bytes.HasPrefix(result.Data.PNG, []byte("\x89PNG\r\n"))
		if has != png {
			t.Errorf("%q: picture %v, want %v (%+v)", code, has, png, result)
		}
		if strings.Contains(code, "DataFrame") && (result.Data == nil || !strings.Contains(result.Data.HTML, "<table")) {
			t.Errorf("a table has no HTML: %+v", result)
		}
	}
}

// A hundred thousand lines arrive whole, in order and at once.
func TestWireManyLines(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	socket := dial(t, c.d, name, nil)
	socket.exec(0, "for i in range(100_000): print(i)")
	lines := 0
	result := socket.drain(0, func(chunk wire.Chunk) {
		if chunk.Seq != lines || chunk.Data != strconv.Itoa(lines) {
			t.Fatalf("line %d is %+v", lines, chunk)
		}
		lines++
	})
	if lines != 100_000 || result.Error != nil {
		t.Errorf("%d lines, %+v", lines, result)
	}
}

// What the daemon logs may be shown to others.
func TestTheTokenIsNeverLogged(t *testing.T) {
	t.Setenv("FOREVERVM_DEBUG", "1")
	d := start(t, t.TempDir())
	c := newCaller(t, d)
	c.send("GET", "/v1/whoami", nil)
	c.send("GET", "/v1/whoami?_forevervm_jwt="+d.token, nil, func(r *http.Request) { r.Header.Del("Authorization") })
	socket := dial(t, d, "new", func(r *dialRequest) { r.url += "?_forevervm_jwt=" + d.token; r.header.Del("Authorization") })
	socket.exec(0, "1")
	socket.drain(0, nil)
	_ = socket.conn.CloseNow()
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	log := read(t, d.dirs.LogFile())
	if !strings.Contains(log, "/v1/whoami") {
		t.Fatalf("requests are not in the log:\n%s", log)
	}
	_, secret, _ := strings.Cut(d.token, ".")
	if strings.Contains(log, secret) {
		t.Error("the token is in the log")
	}
	var line struct{ Msg string }
	for text := range strings.Lines(log) {
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(fmt.Errorf("the log holds %q: %w", text, err))
		}
	}
}

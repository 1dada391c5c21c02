package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// scripted is a daemon with one instruction, for what a real one does too seldom: pages that end
// early, lists that do not fit, time that is up at the worst moment.
type scripted struct {
	unused
	in          api.Instruction
	items       []api.Item
	page        int // items of one page
	machines    []api.Machine
	checkpoints []api.Checkpoint
	stopped     []int
	said        string   // answer to Raw
	asked       []string // of Raw
}

type unused = Machines // embedded under this name, as Machines is the name of a method

func (s *scripted) server(t *testing.T, opts Options) *Server {
	made := New(func(string, string) Machines { return s }, opts)
	t.Cleanup(made.Close)
	return made
}

func (s *scripted) Run(ctx context.Context, name string, _ api.Execute, queued func(api.Instruction), yield func(api.Item) error) (api.Instruction, error) {
	queued(s.in)
	return s.Follow(ctx, name, s.in.Seq, 0, yield)
}

func (s *scripted) Instruction(ctx context.Context, _ string, _ int, _ time.Duration) (api.Instruction, error) {
	return s.in, ctx.Err()
}

func (s *scripted) Instructions(context.Context, string, client.InstructionQuery) (api.List[api.Instruction], error) {
	return api.List[api.Instruction]{Items: []api.Instruction{s.in}}, nil
}

func (s *scripted) Follow(ctx context.Context, _ string, _, _ int, yield func(api.Item) error) (api.Instruction, error) {
	for _, item := range s.items {
		if err := yield(item); err != nil {
			return api.Instruction{}, err
		}
	}
	if client.Done(s.in) {
		return s.in, nil
	}
	<-ctx.Done()
	return api.Instruction{}, ctx.Err()
}

func (s *scripted) Items(_ context.Context, _ string, _, from, _ int) (api.List[api.Item], error) {
	page := api.List[api.Item]{Items: s.items[from:]}
	if len(page.Items) > s.page {
		page.Items, page.Next = page.Items[:s.page], "more"
	}
	return page, nil
}

func (s *scripted) Data(context.Context, api.Representation, int64) ([]byte, error) {
	return nil, errors.New("no picture is looked at here")
}

func (s *scripted) Stop(_ context.Context, _ string, seq int) error {
	s.stopped = append(s.stopped, seq)
	return nil
}

func (s *scripted) Machine(_ context.Context, name string) (api.Machine, error) {
	if len(s.machines) > 0 {
		return s.machines[0], nil
	}
	return api.Machine{Name: name}, nil
}

func (s *scripted) Machines(context.Context, client.MachineFilter) (api.List[api.Machine], error) {
	return api.List[api.Machine]{Items: s.machines}, nil
}

func (s *scripted) Checkpoints(context.Context, string) ([]api.Checkpoint, error) {
	return s.checkpoints, nil
}

// items numbers them.
func items(all ...api.Item) []api.Item {
	for i := range all {
		all[i].Index = i
	}
	return all
}

func printed(text string) api.Item { return api.Item{Kind: "output", Stream: "stdout", Text: text} }

func displayed(mime, text string) api.Item {
	return api.Item{Kind: "display", Representations: []api.Representation{{MIME: mime, Text: text, Href: "/api/x"}}}
}

func arguments(args map[string]any) mcp.CallToolRequest {
	return mcp.CallToolRequest{Params: mcp.CallToolParams{Arguments: args}}
}

func read(t *testing.T, s *Server, offset int64) said {
	t.Helper()
	result, err := s.readOutput(t.Context(), arguments(map[string]any{"replId": "m", "seq": 3, "offset": float64(offset)}))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, result)
}

// said is what a reply says: the text of the instruction, what stands in brackets, and the offset
// that this names, nil for none.
type said struct {
	text, note string
	next       *int64
}

func parse(t *testing.T, result *mcp.CallToolResult) (s said) {
	t.Helper()
	text, ok := result.Content[0].(mcp.TextContent)
	if !ok {
		t.Fatalf("%+v", result)
	}
	s.text = text.Text
	if at := strings.LastIndex(s.text, "["); at >= 0 && strings.HasSuffix(s.text, "]") {
		s.text, s.note = s.text[:at], s.text[at:]
	}
	if found := regexp.MustCompile(`offset (\d+)`).FindStringSubmatch(s.note); found != nil {
		next, err := strconv.ParseInt(found[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s.next = &next
	}
	return s
}

// Piece after piece, read-output gives everything that was printed and displayed as text, once and
// in order; so does the resource. Offsets count on from the first reply.
func TestReadOutputHoldsWhatWasDisplayed(t *testing.T) {
	long := strings.Repeat("a line of some length\n", 2000)
	d := &scripted{page: 2, in: api.Instruction{Machine: "m", Seq: 3, Status: "running"}, items: items(
		printed("before\n"), displayed("text/markdown", "| a | table |"), displayed("image/png", ""),
		printed(long), displayed("text/plain", "in the middle"), printed(long), displayed("text/markdown", "# at the end\n"),
	)}
	all := "before\n| a | table |\n" + long + "in the middle\n" + long + "# at the end\n"
	s := d.server(t, Options{AnswerWithin: 50 * time.Millisecond})
	early, err := s.run(t.Context(), mcp.CallToolRequest{}, "m", "…", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	d.in.Status = "ok"
	var got strings.Builder
	for offset := int64(0); ; {
		o := read(t, s, offset)
		got.WriteString(strings.TrimSuffix(o.text, "\n") + "\n")
		if o.next == nil {
			break
		}
		offset = *o.next
	}
	if got.String() != all {
		t.Errorf("the pieces are %d bytes, want %d:\n%.300s…", got.Len(), len(all), got.String())
	}
	if o := parse(t, early); o.next == nil || !strings.HasPrefix(all[*o.next:], "a line") {
		t.Errorf("the early reply says %s", o.note)
	}
	resource, err := s.readWholeOutput(t.Context(), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: outputURI("m", 3)}})
	if err != nil || resource[0].(mcp.TextResourceContents).Text != all {
		t.Errorf("the resource: %.300v, %v", resource, err)
	}
}

// Only that a machine waits for memory is a reason why its code waits: its other notices tell of
// the past.
func TestWhyCodeWaits(t *testing.T) {
	for waits, want := range map[bool]string{true: "At least 512 MB are left free.", false: ""} {
		s := &scripted{machines: []api.Machine{{
			Name: "m", State: "swapped", Waits: waits, Notice: "At least 512 MB are left free.",
		}}}
		if got := s.server(t, Options{}).waits(t.Context(), s, "m"); got != want {
			t.Errorf("waits: %v; told is %q", waits, got)
		}
	}
}

// A model does not wait for code that its user has paused.
func TestNobodyWaitsForPausedCode(t *testing.T) {
	s := &scripted{
		machines: []api.Machine{{Name: "m", State: "swapped", Paused: true}},
		in:       api.Instruction{Machine: "m", Seq: 3, Status: "running"},
	}
	var result struct{ Content []struct{ Text string } }
	ask(t, s.server(t, Options{AnswerWithin: time.Hour}), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read-output","arguments":{"replId":"m","seq":3}}}`, &result)
	if text := result.Content[0].Text; !strings.Contains(text, pausedByUser) || strings.Contains(text, "still running") {
		t.Errorf("%q", text)
	}
}

// Pictures come with the last piece of an instruction's output, and are not sent again with further
// pieces of one that had ended when it was first answered.
func TestPicturesComeOnce(t *testing.T) {
	drawn := func(status string) *scripted {
		return &scripted{page: 100, in: api.Instruction{Machine: "m", Seq: 3, Status: status}, items: items(
			printed(strings.Repeat("a line of some length\n", 10_000)), displayed("image/png", ""))}
	}
	// No picture can be fetched here: those that belong into a reply are told as missing in it.
	brings := func(o said) bool { return strings.Contains(o.note, "1 of 1 pictures are not in this reply") }
	const where = "/step/4/plot/1.png"

	d := drawn("ok")
	s := d.server(t, Options{})
	result, err := s.run(t.Context(), mcp.CallToolRequest{}, "m", "…", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	first := parse(t, result)
	if !brings(first) {
		t.Fatalf("the first reply: %s", first.note)
	}
	for offset := first.next; offset != nil; {
		o := read(t, s, *offset)
		if brings(o) || !strings.Contains(o.note, where) {
			t.Errorf("the piece from %d: %s", *offset, o.note)
		}
		offset = o.next
	}

	// From the beginning on they come again, with the last piece; and so they do if nobody has had
	// them.
	for what, s := range map[string]*Server{"again": s, "the first time": drawn("ok").server(t, Options{})} {
		for offset := int64(0); ; {
			o := read(t, s, offset)
			if last := o.next == nil; brings(o) != last {
				t.Errorf("%s, the piece from %d: %s", what, offset, o.note)
			}
			if o.next == nil {
				break
			}
			offset = *o.next
		}
	}

	// Of one that still ran when it was answered, the end brings them.
	d = drawn("running")
	d.items = d.items[1:]
	s = d.server(t, Options{AnswerWithin: 20 * time.Millisecond})
	if _, err = s.run(t.Context(), mcp.CallToolRequest{}, "m", "…", time.Minute); err != nil {
		t.Fatal(err)
	}
	d.in.Status = "ok"
	if o := read(t, s, 1); !brings(o) {
		t.Errorf("after the end: %s", o.note)
	}
}

// Only a cancelled call stops its code; one whose time is up is answered.
func TestOnlyACancelledCallStopsItsCode(t *testing.T) {
	d := &scripted{in: api.Instruction{Machine: "m", Seq: 3, Status: "running"}}
	s := d.server(t, Options{})
	late, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	result, err := s.run(late, mcp.CallToolRequest{}, "m", "…", time.Minute)
	if err != nil || len(d.stopped) > 0 {
		t.Fatalf("time was up: %v, stopped %v", err, d.stopped)
	}
	if o := parse(t, result); !strings.HasPrefix(o.note, "[The code is still running.") {
		t.Errorf("time was up: %+v", result)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := s.run(cancelled, mcp.CallToolRequest{}, "m", "…", time.Minute); !errors.Is(err, context.Canceled) || len(d.stopped) != 1 {
		t.Errorf("cancelled: %v, stopped %v", err, d.stopped)
	}
}

// What was put out beyond the first page is in the transcript too.
func TestTranscriptHoldsAllPages(t *testing.T) {
	d := &scripted{page: 1, in: api.Instruction{Machine: "m", Seq: 3, Status: "ok", Items: 3}, items: items(
		printed("one\n"), printed("two\n"), displayed("image/png", ""))}
	text, err := d.server(t, Options{}).transcript(t.Context(), d, "m", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "one\ntwo\n") || !strings.Contains(text, plotURI("m", 3, 1)) {
		t.Error(text)
	}
}

// However long a list is, its reply stays within the limit, and says that there is more.
func TestListsStayWithinAReply(t *testing.T) {
	d := &scripted{}
	for i := range 5000 {
		long := strings.Repeat("ü\"<", 60)
		d.machines = append(d.machines, api.Machine{Name: fmt.Sprintf("m-%d", i), Title: long, Notice: long, Tags: map[string]string{"a": long}})
		d.checkpoints = append(d.checkpoints, api.Checkpoint{ID: fmt.Sprintf("c-%d", i), Label: long})
	}
	s := d.server(t, Options{})
	for name, call := range map[string]func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error){
		"machines": s.list, "checkpoints": s.checkpoints,
	} {
		result, err := call(t.Context(), arguments(map[string]any{"replId": "m"}))
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if len(encoded) > s.opts.ReplyLimit || len(encoded) < s.opts.ReplyLimit/3 {
			t.Errorf("the list of %s has %d bytes, the limit is %d", name, len(encoded), s.opts.ReplyLimit)
		}
		if text := parse(t, result).note; !strings.HasPrefix(text, "[There are ") {
			t.Errorf("the list of %s does not say that there is more: %s", name, text)
		}
	}
}

//go:build !windows && real

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/connect/connecttest"
	"github.com/forevervm/desktop/backend/wire"
)

func TestMain(m *testing.M) { os.Exit(connecttest.Main(m)) }

// daemon is a client of the daemon that the tests share.
func daemon(t *testing.T) *client.Client {
	t.Helper()
	c, err := connect.Daemon(t.Context(), connect.Options{Name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func machine(t *testing.T, c *client.Client) string {
	t.Helper()
	m, err := c.CreateMachine(t.Context(), api.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Name
}

// value runs code and returns the value of its last expression.
func value(t *testing.T, c *client.Client, name, code string) string {
	t.Helper()
	in, _, err := c.Execute(t.Context(), name, api.Execute{Code: code})
	if err != nil {
		t.Fatal(err)
	}
	done, err := c.Wait(t.Context(), name, in.Seq)
	if err != nil {
		t.Fatal(err)
	}
	if done.Status != "ok" || done.Value == nil {
		t.Fatalf("%q: %s %s", code, done.Status, done.Error)
	}
	return *done.Value
}

// killDaemon ends the daemon as kill -9 does.
func killDaemon(t *testing.T, c *client.Client) {
	t.Helper()
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(status.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	connecttest.Eventually(t, "the daemon is dead", func() bool { return syscall.Kill(status.PID, 0) != nil })
}

func TestLifeOfAMachine(t *testing.T) {
	c, ctx := daemon(t), t.Context()
	m, err := c.CreateMachine(ctx, api.NewMachine{Title: "first", Tags: map[string]string{"test": t.Name()}, MemoryMB: 512})
	if err != nil {
		t.Fatal(err)
	}
	tagged, err := c.Machines(ctx, client.MachineFilter{Tags: map[string]string{"test": t.Name()}, Text: "first", CreatedAfter: time.Now().Add(-time.Hour)})
	if err != nil || len(tagged.Items) != 1 || tagged.Items[0].Name != m.Name || tagged.Items[0].MemoryMB != 512 {
		t.Fatalf("listed %+v, %v", tagged, err)
	}
	name, gone := "renamed-"+m.Name, (*string)(nil)
	changed, err := c.UpdateMachine(ctx, m.Name, api.MachineChange{Name: &name, Tags: map[string]*string{"test": gone}})
	if err != nil || changed.Name != name || len(changed.Tags) != 0 {
		t.Fatalf("changed to %+v, %v", changed, err)
	}
	if alias, err := c.Machine(ctx, m.Name); err != nil || alias.Name != name {
		t.Errorf("the old name leads to %q, %v", alias.Name, err)
	}
	if got := value(t, c, name, "x = 1\nx"); got != "1" {
		t.Errorf("x is %s", got)
	}
	made, err := c.Checkpoint(ctx, name, "one")
	if err != nil {
		t.Fatal(err)
	}
	value(t, c, name, "x = 2\nx")
	forked, err := c.Fork(ctx, name, api.NewMachine{Checkpoint: made.ID})
	if err != nil {
		t.Fatal(err)
	}
	if got := value(t, c, forked.Name, "x"); got != "1" {
		t.Errorf("in the fork x is %s", got)
	}
	if _, err := c.Rewind(ctx, name, api.Rewind{Checkpoint: made.ID}); err != nil {
		t.Fatal(err)
	}
	if got := value(t, c, name, "x"); got != "1" {
		t.Errorf("after the rewind x is %s", got)
	}
	if swapped, err := c.Swap(ctx, name); err != nil || swapped.State != "swapped" {
		t.Errorf("swapped: %+v, %v", swapped.State, err)
	}
	if awake, err := c.Wake(ctx, name); err != nil || awake.State != "idle" {
		t.Errorf("awake: %+v, %v", awake.State, err)
	}
	all, err := c.Checkpoints(ctx, name)
	if err != nil || !slices.ContainsFunc(all, func(one api.Checkpoint) bool { return one.ID == made.ID && one.Label == "one" }) {
		t.Errorf("checkpoints %+v, %v", all, err)
	}
	if err := c.DeleteCheckpoint(ctx, name, made.ID); err != nil {
		t.Error(err)
	}
	for _, step := range []func() error{
		func() error { return c.DeleteMachine(ctx, name) },
		func() error { _, err := c.RestoreMachine(ctx, name); return err },
		func() error { return c.PurgeMachine(ctx, name) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Machine(ctx, name); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("after the purge: %v", err)
	}
}

func TestErrorsAreToldApart(t *testing.T) {
	c, ctx := daemon(t), t.Context()
	name := machine(t, c)
	value(t, c, name, "1")
	at, err := c.Endpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stranger := client.New(at.URL, "wrong.token", client.Options{})
	for what, test := range map[string]struct {
		err  error
		kind error
	}{
		"unknown machine": {second(c.Machine(ctx, "no-such-machine")), client.ErrNotFound},
		"taken name":      {second(c.CreateMachine(ctx, api.NewMachine{Name: name})), client.ErrNameTaken},
		"impossible name": {second(c.CreateMachine(ctx, api.NewMachine{Name: "Not A Name"})), client.ErrInvalid},
		"not queued":      {c.CancelInstruction(ctx, name, 0), client.ErrConflict},
		"wrong token":     {second(stranger.Status(ctx)), client.ErrUnauthorized},
		"nobody there":    {second(client.New("http://127.0.0.1:9", "a.b", client.Options{}).Status(ctx)), client.ErrUnavailable},
	} {
		if !errors.Is(test.err, test.kind) {
			t.Errorf("%s: %v is not %v", what, test.err, test.kind)
			continue
		}
		for _, other := range []error{client.ErrNotFound, client.ErrNameTaken, client.ErrInvalid, client.ErrConflict, client.ErrUnauthorized, client.ErrUnavailable, client.ErrDropped, client.ErrUnsupported} {
			if !errors.Is(other, test.kind) && errors.Is(test.err, other) {
				t.Errorf("%s: %v is also %v", what, test.err, other)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestFilesAndWhatIsInside(t *testing.T) {
	c, ctx := daemon(t), t.Context()
	name := machine(t, c)
	content := strings.Repeat("0123456789\n", 300_000)
	if err := c.PutFile(ctx, name, "a folder/ü.txt", strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListFiles(ctx, name, "a folder")
	files := list.Items
	if err != nil || len(files) != 1 || files[0].Name != "ü.txt" || files[0].Size != int64(len(content)) {
		t.Fatalf("listed %+v, %v", list, err)
	}
	body, _, err := c.GetFile(ctx, name, "a folder/ü.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if got, err := io.ReadAll(body); err != nil || string(got) != content {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	value(t, c, name, "import math; answer = 42; answer")
	if got, err := c.Complete(ctx, name, "answ", 4); err != nil || !slices.Contains(got.Matches, "answer") {
		t.Errorf("completions %+v, %v", got, err)
	}
	connecttest.Eventually(t, "the inspection finds it", func() bool { // on a busy computer a machine says that it had no time
		got, err := c.Inspect(ctx, name, "math.sqrt", 9, 0)
		return err == nil && got.Found
	})
	variables, err := c.Variables(ctx, name)
	if err != nil || !slices.ContainsFunc(variables, func(v api.Variable) bool { return v.Name == "answer" && v.Preview == "42" }) {
		t.Errorf("variables %+v, %v", variables, err)
	}
	connecttest.Eventually(t, "the search finds what ran", func() bool {
		found, err := c.Search(ctx, "answer", name, "", 10)
		return err == nil && len(found.Items) > 0
	})
}

// Each line comes once, in order, although the daemon is killed in the middle.
func TestFollowingGoesOnAfterAKill(t *testing.T) {
	t.Run("of one that was queued before", func(t *testing.T) {
		goesOnAfterAKill(t, func(c *client.Client, name string, e api.Execute, yield func(api.Item) error) (api.Instruction, error) {
			in, _, err := c.Execute(t.Context(), name, e)
			if err != nil {
				return in, err
			}
			return c.Follow(t.Context(), name, in.Seq, 0, yield)
		})
	})
	t.Run("in one request", func(t *testing.T) {
		goesOnAfterAKill(t, func(c *client.Client, name string, e api.Execute, yield func(api.Item) error) (api.Instruction, error) {
			times := 0
			done, err := c.Run(t.Context(), name, e, func(in api.Instruction) {
				if times++; client.Done(in) || in.Code != e.Code {
					t.Errorf("it was queued as %+v", in)
				}
			}, yield)
			if times != 1 {
				t.Errorf("it was queued %d times", times)
			}
			return done, err
		})
	})
}

func goesOnAfterAKill(t *testing.T, run func(c *client.Client, name string, e api.Execute, yield func(api.Item) error) (api.Instruction, error)) {
	t.Helper()
	c := daemon(t)
	name := machine(t, c)
	var text strings.Builder
	killed := false
	code := "import time\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.05)\n'end'"
	done, err := run(c, name, api.Execute{Code: code}, func(item api.Item) error {
		text.WriteString(item.Text)
		if !killed && strings.Contains(text.String(), "7\n") {
			killed = true
			killDaemon(t, c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range 40 {
		fmt.Fprintln(&want, i)
	}
	if text.String() != want.String() {
		t.Errorf("followed %q", text.String())
	}
	if done.Status != "ok" || done.Value == nil || *done.Value != "'end'" {
		t.Errorf("it ended as %+v", done)
	}
}

// Stopping an instruction stops that one, wherever it is, and no other.
func TestStop(t *testing.T) {
	c, ctx := daemon(t), t.Context()
	name := machine(t, c)
	var seqs []int
	for _, code := range []string{"import time", "time.sleep(600)", "'never'", "time.sleep(2); 'unharmed'"} {
		in, _, err := c.Execute(ctx, name, api.Execute{Code: code})
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, in.Seq)
	}
	if _, err := c.Wait(ctx, name, seqs[0]); err != nil {
		t.Fatal(err)
	}
	connecttest.Eventually(t, "the code runs", func() bool {
		in, err := c.Instruction(ctx, name, seqs[1], 0)
		return err == nil && in.Status == "running"
	})
	for _, seq := range []int{seqs[2], seqs[1], seqs[1], seqs[0]} { // one waits, one runs, and what is over stays as it is
		if err := c.Stop(ctx, name, seq); err != nil {
			t.Errorf("stopping %d: %v", seq, err)
		}
	}
	for i, want := range []string{"ok", "error", "cancelled", "ok"} {
		if in, err := c.Wait(ctx, name, seqs[i]); err != nil || in.Status != want {
			t.Errorf("instruction %d ended as %+v, %v; want %s", i, in, err, want)
		}
	}
	if err := c.Stop(ctx, name, 99); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("stopping what is not there: %v", err)
	}
}

func TestEventsGoOnAfterAKill(t *testing.T) {
	c := daemon(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan api.Event, 1000)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Events(ctx, "", func(e api.Event) error {
			select {
			case seen <- e:
			default:
			}
			return nil
		})
	}()
	// A machine that is changed until an event tells of it: the stream is open then.
	wait := func(what string, change func() string) {
		t.Helper()
		connecttest.Eventually(t, what, func() bool {
			name := change()
			for {
				select {
				case e := <-seen:
					if e.Type == "machine" && e.Machine.Name == name || e.Type == "reset" {
						return true
					}
				case <-time.After(100 * time.Millisecond):
					return false
				}
			}
		})
	}
	wait("an event", func() string { return machine(t, c) })
	killDaemon(t, c)
	wait("an event after the kill", func() string {
		// It may go out on a connection to the one that was killed; what became of it is unknown
		// then, and it is not sent again on its own.
		m, _ := c.CreateMachine(ctx, api.NewMachine{})
		return m.Name
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestTheWire(t *testing.T) {
	w, ctx := daemon(t).Wire(), t.Context()
	if who, err := w.Whoami(ctx); err != nil || who.Account == "" {
		t.Errorf("whoami %+v, %v", who, err)
	}
	name, err := w.New(ctx, wire.NewMachine{Tags: map[string]string{"wire": "yes"}})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := w.List(ctx, map[string]string{"wire": "yes"}); err != nil || len(list) != 1 || list[0].Name != name {
		t.Errorf("list %+v, %v", list, err)
	}
	queued, err := w.Exec(ctx, name, wire.Exec{Instruction: wire.Instruction{Code: "print('a')\nprint('b')\n3"}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	result, err := w.StreamResult(ctx, name, queued.InstructionSeq, func(c wire.Chunk) error { lines = append(lines, c.Data); return nil })
	if err != nil || *result.Value != "3" || !slices.Equal(lines, []string{"a", "b"}) {
		t.Errorf("streamed %q, %+v, %v", lines, result, err)
	}
	if again, err := w.Result(ctx, name, queued.InstructionSeq); err != nil || *again.Value != "3" {
		t.Errorf("result %+v, %v", again, err)
	}
	repl, err := w.Repl(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	if seq, result, err := repl.Exec(ctx, wire.Instruction{Code: "1/0"}, func(wire.Chunk) error { return nil }); err != nil || seq != 1 || result.Error == nil || !strings.Contains(*result.Error, "ZeroDivisionError") {
		t.Errorf("on the socket: %d, %+v, %v", seq, result, err)
	}
	if err := repl.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Repl(ctx, "no-such-machine"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a socket to nothing: %v", err)
	}
}

func TestPictures(t *testing.T) {
	c, ctx := daemon(t), t.Context()
	name := machine(t, c)
	forms := map[string]api.Representation{}
	for _, formats := range [][]string{nil, {"svg"}} {
		in, _, err := c.Execute(ctx, name, api.Execute{Code: "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", Formats: formats})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Follow(ctx, name, in.Seq, 0, func(item api.Item) error {
			for _, rep := range item.Representations {
				forms[rep.MIME] = rep
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for mime, magic := range map[string]string{"image/png": "\x89PNG", "image/svg+xml": "<"} {
		data, err := c.Data(ctx, forms[mime], 1<<20)
		if err != nil || !strings.HasPrefix(string(data), magic) {
			t.Errorf("%s: %d bytes, %v", mime, len(data), err)
		}
		if _, err := c.Data(ctx, forms[mime], 10); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s in 10 bytes: %v", mime, err)
		}
	}
	if _, err := c.Data(ctx, api.Representation{MIME: "text/plain", Href: "http://elsewhere/" + filepath.Base(name)}, 10); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("an address elsewhere: %v", err)
	}
}

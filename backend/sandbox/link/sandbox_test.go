package link

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/yamux"
	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile is a supervisor's end of a link that says what a test wants.
type hostile struct {
	t       *testing.T
	session *yamux.Session
	control net.Conn
	frames  net.Conn
}

// accept takes the daemon's streams and its start request, and answers that.
func accept(t *testing.T, conn io.ReadWriteCloser, ready string) *hostile {
	session, err := yamux.Server(conn, protocol.Mux())
	if err != nil {
		t.Error(err)
		return nil
	}
	h := &hostile{t: t, session: session}
	for _, to := range []*net.Conn{&h.control, &h.frames} {
		stream, err := session.Accept()
		if err != nil {
			t.Error(err)
			return nil
		}
		if _, err := protocol.Read(stream); err != nil {
			t.Error(err)
		}
		*to = stream
	}
	f, err := protocol.Read(h.control)
	if err != nil || f.Type != protocol.TypeStart {
		t.Errorf("the first request is %q, %v", f.Type, err)
	}
	h.reply(`{"type":"reply","id":1,"ok":true,"result":` + ready + `}`)
	return h
}

func (h *hostile) reply(header string) { h.write(h.control, header, "") }

func (h *hostile) say(header, payload string) { h.write(h.frames, header, payload) }

func (h *hostile) write(w io.Writer, header, payload string) {
	b, err := protocol.Raw([]byte(header), []byte(payload))
	if err == nil {
		_, err = w.Write(b)
	}
	// The daemon ends the session as soon as it has read the last frame, perhaps before this end
	// has noticed that it is written.
	if err != nil && !errors.Is(err, yamux.ErrSessionShutdown) {
		h.t.Errorf("write %s: %v", header, err)
	}
}

// meet connects a daemon's end with a supervisor's end that script plays, and ends both.
func meet(t *testing.T, script func(*hostile)) (*Sandbox, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	played := make(chan struct{})
	go func() {
		defer close(played)
		if h := accept(t, theirs, `{"python":"3.13.5","last_seq":-1}`); h != nil {
			script(h)
			<-h.session.CloseChan()
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := Connect(ctx, ours, Options{Kill: func() { theirs.Close() }, Wait: func() { <-played }})
	if err == nil {
		t.Cleanup(func() { s.Kill(); <-s.Ended() })
	}
	return s, err
}

// end reads what is left and waits for the end.
func end(t *testing.T, s *Sandbox) (frames []machine.Frame, cause machine.Cause) {
	t.Helper()
	for f := range s.Frames() {
		frames = append(frames, f)
	}
	select {
	case <-s.Ended():
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	return frames, s.Cause()
}

func TestEnds(t *testing.T) {
	manifest := `{"format":1,"id":"00000001-0000000000000000","created_at":"2026-01-02T03:04:05Z","last_seq":3,"size":5}`
	for name, c := range map[string]struct {
		header, payload string
		kind            machine.CauseKind
		saved           bool
	}{
		"saved":                 {`{"type":"ended","cause":"stopped","detail":"d","checkpoint":` + manifest + `}`, "", machine.EndedStopped, true},
		"memory":                {`{"type":"ended","cause":"memory","detail":"d"}`, "", machine.EndedMemory, false},
		"its own memory":        {`{"type":"ended","cause":"memory","detail":"d","own_limit":true}`, "", machine.EndedMemory, false},
		"exited":                {`{"type":"ended","cause":"exited","detail":"d"}`, "", machine.EndedExited, false},
		"a cause of its own":    {`{"type":"ended","cause":"killed","detail":"d"}`, "", machine.EndedBroken, false},
		"a forged checkpoint":   {`{"type":"ended","cause":"stopped","detail":"d","checkpoint":{"format":1,"id":"../../x"}}`, "", machine.EndedBroken, false},
		"an unknown type":       {`{"type":"surprise"}`, "", machine.EndedBroken, false},
		"a frame out of bounds": {`{"type":"output","seq":-4,"index":0,"stream":"stdout"}`, "x", machine.EndedBroken, false},
		"too much output":       {`{"type":"output","seq":1,"index":0,"stream":"stdout"}`, strings.Repeat("x", 1<<20), machine.EndedBroken, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := meet(t, func(h *hostile) {
				h.say(`{"type":"output","seq":0,"index":0,"stream":"stdout"}`, "before")
				h.say(c.header, c.payload)
			})
			if err != nil {
				t.Fatal(err)
			}
			frames, cause := end(t, s)
			if len(frames) != 1 || string(frames[0].Item.Text) != "before" {
				t.Errorf("heard %+v", frames)
			}
			if cause.Kind != c.kind || cause.Detail == "" || (cause.Checkpoint != nil) != c.saved || cause.OwnLimit != strings.Contains(c.header, "own_limit") {
				t.Errorf("the cause is %+v", cause)
			}
			if err := s.Execute(t.Context(), 0, "1", nil); !errors.Is(err, machine.ErrConflict) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestLinkBreaks(t *testing.T) {
	s, err := meet(t, func(h *hostile) {
		_, _ = protocol.Read(h.control) // a question: what was answered before has arrived
		h.session.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stats(t.Context()); err == nil {
		t.Error("a question is answered by nobody")
	}
	if _, cause := end(t, s); cause.Kind != machine.EndedBroken || cause.Detail == "" {
		t.Errorf("the cause is %+v", cause)
	}
}

// Replies that nobody asked for are ignored, those of failures tell their kind.
func TestReplies(t *testing.T) {
	s, err := meet(t, func(h *hostile) {
		for _, id := range []string{"0", "1", "77", "18446744073709551615"} {
			h.reply(`{"type":"reply","id":` + id + `,"ok":true,"result":{"memory_bytes":666}}`)
		}
		for _, answer := range []string{
			`"ok":false,"error":"The disk is full.","kind":"disk_full"`, `"ok":false,"error":"no","kind":"checkpoint_unusable"`,
			`"ok":false`, `"ok":true,"result":{"format":1,"id":"nonsense"}`,
		} {
			f, err := protocol.Read(h.control)
			var q protocol.Request
			if err == nil {
				err = f.Decode(&q)
			}
			if err != nil || q.Type != protocol.TypeCheckpoint {
				h.t.Errorf("asked for %+v, %v", q, err)
			}
			h.reply(strings.Replace(`{"type":"reply","id":ID,`+answer+`}`, "ID", string(append([]byte{}, '0'+byte(q.ID))), 1))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []error{machine.ErrDiskFull, machine.ErrCheckpointUnusable, machine.ErrInvalid} {
		if _, err := s.Checkpoint(t.Context(), nil); !errors.Is(err, want) || err.Error() == "" {
			t.Errorf("%v, not %v", err, want)
		}
	}
	if info, err := s.Checkpoint(t.Context(), nil); err == nil {
		t.Errorf("a nonsensical manifest is believed: %+v", info)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Stats(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer: %v", err)
	}
}

// A daemon that has lost interest is not held up by frames that it does not read.
func TestKillWithoutReading(t *testing.T) {
	flooded := make(chan struct{})
	s, err := meet(t, func(h *hostile) {
		for range maxFrames + 10 {
			h.say(`{"type":"background","stream":"stdout"}`, "x")
		}
		close(flooded)
	})
	if err != nil {
		t.Fatal(err)
	}
	<-flooded
	s.Kill()
	select {
	case <-s.Ended():
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if cause := s.Cause(); cause.Kind != machine.EndedKilled {
		t.Errorf("the cause is %+v", cause)
	}
}

func TestStartFails(t *testing.T) {
	unanswered := map[string]string{"silent": "It cannot be restored.", "dead": "The supervisor of the machine ended unexpectedly."}
	for name, result := range map[string]string{
		"refused":  `{"type":"reply","id":1,"ok":false,"error":"It cannot be restored.","kind":"checkpoint_unusable"}`,
		"nonsense": `{"type":"reply","id":1,"ok":true,"result":7}`,
		"garbage":  `{"type":"reply","id":"x"}`,
		"silent":   "", // it ends without an answer, and says why
		"dead":     "", // it does not say that either
	} {
		ours, theirs := net.Pipe()
		played := make(chan struct{})
		go func() {
			defer close(played)
			session, err := yamux.Server(theirs, protocol.Mux())
			if err != nil {
				return
			}
			defer session.Close()
			control, err := session.Accept()
			if err != nil {
				return
			}
			_, _ = protocol.Read(control)
			_, _ = protocol.Read(control)
			if result != "" {
				b, _ := protocol.Raw([]byte(result), nil)
				_, _ = control.Write(b)
			}
			frames, err := session.Accept()
			if err != nil {
				return
			}
			if _, _ = protocol.Read(frames); name == "dead" {
				return
			}
			b, _ := protocol.Raw([]byte(`{"type":"ended","cause":"broken","detail":"It cannot be restored."}`), nil)
			_, _ = frames.Write(b)
			<-session.CloseChan()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		s, err := Connect(ctx, ours, Options{Kill: func() { theirs.Close() }, Wait: func() { <-played }})
		cancel()
		if err == nil {
			t.Errorf("%s: started as %+v", name, s.Ready())
		}
		if name == "refused" && (!errors.Is(err, machine.ErrCheckpointUnusable) || err.Error() != "It cannot be restored.") {
			t.Errorf("%s: %v", name, err)
		}
		if why := unanswered[name]; why != "" && (!errors.Is(err, machine.ErrUnavailable) || errors.Is(err, machine.ErrConflict) || !strings.HasPrefix(err.Error(), why)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A supervisor that was ended because nobody waits for it any longer did not end unexpectedly.
func TestStartIsGivenUp(t *testing.T) {
	ours, theirs := net.Pipe()
	played := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(played)
		session, err := yamux.Server(theirs, protocol.Mux())
		if err != nil {
			return
		}
		defer session.Close()
		if control, err := session.Accept(); err == nil {
			_, _ = protocol.Read(control)
			_, _ = protocol.Read(control)
		}
		cancel()
		<-session.CloseChan()
	}()
	_, err := Connect(ctx, ours, Options{Kill: func() { theirs.Close() }, Wait: func() { <-played }})
	var told *machine.Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &told) {
		t.Errorf("it is told as %v", err)
	}
}

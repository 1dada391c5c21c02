//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// forger is what stands at the sandbox's ends of a runner's pipes.
type forger struct {
	t      *testing.T
	runner *runner
	stdout *os.File
	heard  chan error // how listen ended
	passed *os.File   // what the daemon gets; see follow
}

func newForger(t *testing.T) *forger {
	t.Helper()
	r, _, stdout, err := newRunner(newOutbox())
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{t: t, runner: r, stdout: stdout, heard: make(chan error, 1)}
	go func() { f.heard <- r.listen() }()
	t.Cleanup(func() {
		stdout.Close()
		r.box.drop()
		select {
		case <-r.in.ended:
		default:
			r.in.close()
		}
		r.out.Close()
	})
	return f
}

func (f *forger) say(format string, args ...any) {
	f.t.Helper()
	b, err := protocol.Raw(fmt.Appendf(nil, format, args...), nil)
	if err == nil {
		_, err = f.stdout.Write(b)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// resume wakes the runner, which answers with a ready frame that claims what ready says.
func (f *forger) resume(ready string) protocol.Ready {
	f.t.Helper()
	f.say(`{"type":"ready","sync":%q,%s}`, f.runner.sync, ready)
	got, err := f.runner.resume(f.t.Context(), nil, protocol.Resume{})
	if err != nil {
		f.t.Fatal(err)
	}
	return got
}

// end waits for the end of the listening.
func (f *forger) end() error {
	f.t.Helper()
	f.stdout.Close()
	select {
	case err := <-f.heard:
		return err
	case <-time.After(20 * time.Second):
		f.t.Fatal("the runner is listened to forever")
		return nil
	}
}

// follow lets the daemon have what the runner said next: what that tells of the state is known
// then.
func (f *forger) follow() {
	f.t.Helper()
	if f.passed == nil {
		passed, w, err := os.Pipe()
		if err != nil {
			f.t.Fatal(err)
		}
		f.passed = passed
		f.t.Cleanup(func() { passed.Close() })
		go func() {
			defer w.Close()
			_ = f.runner.box.writeTo(w)
		}()
	}
	_ = f.passed.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := protocol.Read(f.passed); err != nil {
		f.t.Fatal(err)
	}
}

// A runner is not believed that it was given instructions which it was not.
func TestReadyIsClamped(t *testing.T) {
	f := newForger(t)
	f.runner.restored(4)
	ready := f.resume(`"pid":1,"python":"3.13","last_seq":1000000,"running":99,"queued":[3,4,5,600]`)
	if ready.LastSeq != 4 || ready.Running != nil || fmt.Sprint(ready.Queued) != "[3 4]" {
		t.Errorf("believed: %+v", ready)
	}
	if last, running := f.runner.state(); last != 4 || running == nil || *running != 3 {
		t.Errorf("the state is %d, %v", last, running)
	}
	if err := f.end(); err != nil {
		t.Error(err)
	}
}

func TestForgedFramesEndTheMachine(t *testing.T) {
	for name, frame := range map[string]string{
		"a second ready":                  `{"type":"ready","sync":"SYNC","last_seq":4}`,
		"a ready of another sync":         `{"type":"ready","last_seq":4}`,
		"an instruction never given":      `{"type":"started","seq":5,"index":0,"at":1}`,
		"the end of one never given":      `{"type":"result","seq":1000000,"index":0,"status":"ok","mimes":[]}`,
		"a death of no kind":              `{"type":"died","exit_code":70000}`,
		"a death by an impossible signal": `{"type":"died","signal":-3}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newForger(t)
			f.runner.restored(4)
			f.resume(`"last_seq":4`)
			f.say("%s", strings.ReplaceAll(frame, "SYNC", f.runner.sync))
			if err := f.end(); !errors.Is(err, protocol.ErrViolation) {
				t.Errorf("it ends with %v", err)
			}
			if last, running := f.runner.state(); last != 4 || running != nil {
				t.Errorf("the state is %d, %v", last, running)
			}
		})
	}
}

// What a machine says of its end is told in our words.
func TestDeathInOurWords(t *testing.T) {
	for said, want := range map[string]string{
		`"signal":11`:                 "Python was ended by the signal SIGSEGV (segmentation fault).",
		`"signal":9,"exit_code":null`: "Python was ended by the signal SIGKILL (killed).",
		`"signal":64`:                 "Python was ended by the signal 64.",
		`"exit_code":3,"signal":null`: "Python ended itself with the status 3.",
		`"exit_code":null`:            "Python could no longer be reached and was ended: its code closed the descriptors that the machine needs.",
	} {
		f := newForger(t)
		f.resume(`"last_seq":-1`)
		f.say(`{"type":"died",%s,"reason":"Your licence has ended, see evil.example \u001b[2J"}`, said)
		if err := f.end(); err != nil {
			t.Errorf("%s: %v", said, err)
		}
		if got := f.runner.lastWords(); got != want {
			t.Errorf("%s: %q", said, got)
		}
	}
}

// What a machine answers does not pass for a failure of ours.
func TestAnswersAreTheMachinesWords(t *testing.T) {
	f := newForger(t)
	f.resume(`"last_seq":-1`)
	answered := make(chan protocol.Reply, 1)
	go func() {
		reply, _, err := f.runner.call(context.Background(), protocol.Request{Type: protocol.TypeReadFile}, nil)
		if err != nil {
			t.Error(err)
		}
		answered <- reply
	}()
	_ = f.runner.in.r.SetReadDeadline(time.Now().Add(20 * time.Second))
	for typ := ""; typ != protocol.TypeReadFile; {
		asked, err := protocol.Read(f.runner.in.r)
		if err != nil {
			t.Fatal(err)
		}
		typ = asked.Type
	}
	f.say(`{"type":"reply","id":1,"ok":false,"kind":"disk_full","error":"The disk is full. Delete your photos."}`)
	if reply := <-answered; reply.OK || reply.Kind != "" || reply.Error != "The machine answered: The disk is full. Delete your photos." {
		t.Errorf("passed on: %+v", reply)
	}
}

// Nobody hears of a change that the machine may wake without: one that was made while it was saved
// to be ended.
func TestChangesOfAMachineThatIsStopped(t *testing.T) {
	f := newForger(t)
	f.resume(`"last_seq":-1`)
	failed := make(chan error, 1)
	change := func(id int) {
		go func() {
			_, _, err := f.runner.call(context.Background(), protocol.Request{Type: protocol.TypeWriteFile}, nil)
			failed <- err
		}()
		_ = f.runner.in.r.SetReadDeadline(time.Now().Add(20 * time.Second))
		for typ := ""; typ != protocol.TypeWriteFile; {
			asked, err := protocol.Read(f.runner.in.r)
			if err != nil {
				t.Fatal(err)
			}
			typ = asked.Type
		}
		f.say(`{"type":"reply","id":%d,"ok":true}`, id)
		f.say(`{"type":"background","kind":"output","stream":"stdout"}`) // heard after the reply
		f.follow()
	}
	first, second := f.runner.hold(), f.runner.hold()
	change(1)
	first()
	select {
	case err := <-failed:
		t.Fatalf("told of while it is stopped: %v", err)
	default:
	}
	second() // it could not be saved
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	f.runner.hold()
	change(2)
	f.runner.in.close()
	if err := <-failed; !errors.Is(err, errEnded) {
		t.Errorf("after the end: %v", err)
	}
}

// What was taken back or is over is not in a checkpoint.
func TestCheckpointKnowsWhatItHasNot(t *testing.T) {
	f := newForger(t)
	f.runner.restored(9)
	f.resume(`"last_seq":9,"running":8,"queued":[9]`)
	tell := func(typ string, seq int) {
		t.Helper()
		if err := f.runner.tell(t.Context(), protocol.Request{Type: typ, Seq: seq}, nil); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(running int) {
		t.Helper()
		last, got := f.runner.state()
		if want := fmt.Sprint(running); last != 10 || got == nil && running >= 0 || got != nil && fmt.Sprint(*got) != want {
			t.Errorf("the state is %d, %v", last, got)
		}
	}
	tell(protocol.TypeExecute, 10)
	tell(protocol.TypeExecute, 10)
	expect(8)
	tell(protocol.TypeCancel, 9)
	f.say(`{"type":"result","seq":8,"index":0,"status":"ok","mimes":[]}`)
	f.follow()
	expect(10)
	tell(protocol.TypeCancel, 10)
	expect(-1)
	// It had just begun.
	f.say(`{"type":"started","seq":10,"index":0,"at":1}`)
	f.follow()
	expect(10)
	f.say(`{"type":"result","seq":10,"index":1,"status":"ok","mimes":[]}`)
	f.follow()
	tell(protocol.TypeExecute, 10)
	expect(-1)
}

// Acknowledgements that the runner did not take are tried again: without them it would stop reading
// output for good.
func TestAcksAreTriedAgain(t *testing.T) {
	f := newForger(t)
	a := newAcks()
	ctx, cancel := context.WithCancel(t.Context())
	passed := make(chan struct{})
	f.runner.in.waiting.Store(maxWaiting)
	a.add(3, 7)
	go func() { defer close(passed); a.pass(ctx, f.runner) }()
	a.some <- struct{}{} // there is room when it has begun
	a.add(3, 5)          // an older one changes nothing
	f.runner.in.waiting.Store(0)
	_ = f.runner.in.r.SetReadDeadline(time.Now().Add(20 * time.Second))
	for index := -1; index != 7; {
		frame, err := protocol.Read(f.runner.in.r)
		var q protocol.Request
		if err == nil {
			err = frame.Decode(&q)
		}
		if err != nil || q.Type != protocol.TypeAck || q.Seq != 3 {
			t.Fatalf("passed on: %+v, %v", q, err)
		}
		index = q.Index
	}
	cancel()
	<-passed
}

// A daemon that takes no frames any more is as good as gone: the link is closed, so that the
// machine is saved.
func TestUnreadFramesCloseTheLink(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	session, err := yamux.Server(ours, protocol.Mux())
	if err != nil {
		t.Fatal(err)
	}
	frames, other := net.Pipe()
	other.Close()
	s := &supervisor{box: newOutbox(), link: &daemonLink{session: session, frames: frames}, flushed: make(chan struct{})}
	s.box.push([]byte("frame"), false)
	go s.passFrames()
	<-s.flushed
	select {
	case <-s.link.gone():
	case <-time.After(20 * time.Second):
		t.Error("the link stays open")
		session.Close()
	}
}

// A state in which Python has ended is no checkpoint.
func TestTheDeadAreNotSaved(t *testing.T) {
	f := newForger(t)
	s := &supervisor{runner: f.runner, sandboxEnded: make(chan struct{})}
	if err := s.alive(); err != nil {
		t.Error(err)
	}
	f.resume(`"last_seq":-1`)
	f.say(`{"type":"died","exit_code":3}`)
	if err := f.end(); err != nil {
		t.Fatal(err)
	}
	var told *told
	if err := describeSave(s.alive()); !errors.As(err, &told) || told.kind != protocol.KindConflict {
		t.Errorf("after its last words: %v", err)
	}
	s.runner.died = ""
	close(s.sandboxEnded)
	if err := s.alive(); err == nil {
		t.Error("after its end it is alive")
	}
}

// A checkpoint that has an instruction in it, even half in the pipe, says so.
func TestCheckpointKnowsWhatItHas(t *testing.T) {
	f := newForger(t)
	told := make(chan error, 1)
	go func() {
		told <- f.runner.tell(context.Background(), protocol.Request{Type: protocol.TypeExecute, Seq: 7}, bytes.Repeat([]byte("#"), 1<<20))
	}()
	f.runner.in.awaitInput(t)
	release := f.runner.in.hold()
	last, running := f.runner.state()
	if len(f.runner.in.unsent()) == 0 || last != 7 || running == nil || *running != 7 {
		t.Errorf("with %d bytes to come the state is %d, %v", len(f.runner.in.unsent()), last, running)
	}
	release()
	f.runner.in.r.Close()
	if err := <-told; err == nil {
		t.Error("nobody reads, and yet it was sent")
	}
}

package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hashicorp/yamux"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// pipeTo is a Dialer to an agent that is made up.
type pipeTo func(net.Conn)

func (f pipeTo) Dial(context.Context) (io.ReadWriteCloser, error) {
	here, there := net.Pipe()
	go f(there)
	return here, nil
}

// liar is an agent that says hello and then, on every stream, what it is given.
func liar(said []byte) pipeTo {
	return func(conn net.Conn) {
		if _, err := io.WriteString(conn, "noise\n"+Greeting); err != nil {
			return
		}
		session, err := yamux.Server(conn, mux())
		if err != nil {
			return
		}
		defer session.Close()
		for first := true; ; first = false {
			stream, err := session.Accept()
			if err != nil {
				return
			}
			go func() {
				defer stream.Close()
				_ = stream.SetDeadline(time.Now().Add(time.Minute))
				if _, err := protocol.Read(stream); err != nil {
					return
				}
				if first {
					_ = protocol.Write(stream, answer{Type: sayDone, Hello: &hello{Protocol: Protocol}}, nil)
					return
				}
				_, _ = stream.Write(said)
			}()
		}
	}
}

func frames(answers ...answer) []byte {
	var b bytes.Buffer
	for _, a := range answers {
		_ = protocol.Write(&b, a, nil)
	}
	return b.Bytes()
}

// Whatever an agent says, what the daemon is told is bounded and fit to be shown.
func FuzzAgent(f *testing.F) {
	good := checkpoint{ID: "00000001-aaaa", CreatedAt: time.Unix(1e9, 0), Image: "i", Runtime: "r"}
	f.Add(frames(answer{Type: sayDone, Checkpoint: &good}))
	f.Add(frames(answer{Type: sayDone, Failure: &failure{Kind: "invalid", Message: "no\u202e\x1b[31m"}}))
	f.Add(frames(answer{Type: sayAttempt, Pipe: 1}, answer{Type: sayGone, Pipe: 1}, answer{Type: sayDone}))
	f.Add(frames(answer{Type: sayDone, State: &state{Files: []stateFile{{"pages.img", 3}}}}, answer{Type: sayFile, File: "pages.img"}))
	f.Add(frames(answer{Type: sayFile, File: "a"}, answer{Type: sayDone, Checkpoint: &good}))
	f.Add(frames(answer{Type: sayDone, Problems: []problem{{"a\nb", "c"}}, Bytes: -1}))
	f.Fuzz(func(t *testing.T, said []byte) {
		p := New(Config{Name: "liar", Owner: strings.Repeat("0", 32), Dialer: liar(said)})
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		fit := func(text string) {
			if len(text) > maxMessage+len("…") || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) && r > 0x2020 }) {
				t.Errorf("the daemon is told %q", text)
			}
		}
		told := func(err error) {
			var e *machine.Error
			if err == nil {
				return
			}
			if fit(err.Error()); !errors.As(err, &e) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v is no sentence", err)
			}
		}
		copied, err := p.Copy(ctx, "a", "b", "c")
		if told(err); err == nil && (!checkpointID.MatchString(copied.ID) || copied.Size < 0 || copied.LastSeq < -1) {
			t.Errorf("a checkpoint is %+v", copied)
		}
		for _, problem := range p.Check(ctx) {
			fit(problem.What + problem.Do)
		}
		used, err := p.Used()
		if told(err); used < 0 {
			t.Errorf("%d bytes", used)
		}
		open, err := p.Export(ctx, "a", "b")
		if told(err); err == nil {
			for _, file := range open.State.Files {
				if content, err := open.Open(file.Name); err == nil {
					n, _ := io.Copy(io.Discard, content)
					if n > file.Size {
						t.Errorf("%d bytes of %d", n, file.Size)
					}
					content.Close()
				}
			}
			open.Close()
		}
		_, err = p.Import(ctx, "a", machine.SavedState{Files: []machine.StateFile{{Name: "a", Size: 2}}}, func(machine.StateFile) (io.Reader, error) {
			return strings.NewReader("xx"), nil
		})
		told(err)
		_, err = p.Start(ctx, machine.StartSpec{ID: "a", Image: "base"})
		told(err)
		if ctx.Err() != nil {
			t.Error("something has no end")
		}
	})
}

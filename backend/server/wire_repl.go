package server

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

// The Rust SDK gets ready for exec_received only after it has sent its exec: an answer within a
// millisecond is lost on it, and on a busy computer, where it may be stopped in between, one within
// a few. It then hangs forever, so ten are well spent.
const rustHold = 10 * time.Millisecond

// rejected is the number that stands for an instruction that was not taken: it has none of its own.
const rejected = -1

// wireRepl serves one WebSocket. An open socket is no use of its machine and costs one waiting
// goroutine. It sends no pings: the Rust SDK breaks at them.
func (s *Server) wireRepl(w http.ResponseWriter, r *http.Request) error {
	if !wantsSocket(r) {
		w.Header().Set("Upgrade", "websocket")
		return errSocketWanted
	}
	m, err := s.replMachine(r)
	if err != nil {
		return err
	}
	raw := &corkable{ResponseWriter: w}
	conn, err := websocket.Accept(raw, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the Origin was checked before, by our own rule
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return err
	}
	s.sockets.Add(1)
	defer s.sockets.Done()
	repl := &repl{server: s, conn: conn, cork: raw.conn, machines: s.machinesOf(r), machine: m.Name, client: clientOf(r)}
	if strings.EqualFold(r.Header.Get(wire.HeaderSDK), "rust") {
		repl.hold = rustHold
	}
	repl.serve(r.Context())
	return nil
}

// replMachine is the machine that a socket is for: a new one, or the one named, if it is there.
func (s *Server) replMachine(r *http.Request) (machine.Machine, error) {
	name := r.PathValue("name")
	if name == "new" {
		return s.machinesOf(r).Create(r.Context(), machine.CreateOptions{Client: clientOf(r)})
	}
	found, err := s.machinesOf(r).Find(r.Context(), name)
	if err != nil {
		return machine.Machine{}, err
	}
	m := found.Machine()
	if m.State == machine.Deleted {
		return m, inBin(m.Name, callerOf(r))
	}
	return m, nil
}

// repl is one open socket.
type repl struct {
	server   *Server
	conn     *websocket.Conn
	cork     *cork
	machines ownMachines
	machine  string
	client   machine.Client
	hold     time.Duration // between an exec and its exec_received
}

// serve reads until the client goes or ctx ends, and waits for all that was begun.
func (p *repl) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var relays sync.WaitGroup
	defer func() {
		cancel()
		_ = p.conn.CloseNow()
		relays.Wait()
	}()
	p.conn.SetReadLimit(-1) // next has a limit of its own, which does not close the socket
	if p.send(ctx, wire.Connected{MachineName: p.machine}) != nil {
		return
	}
	for {
		request, err := p.next(ctx)
		if err != nil {
			return
		}
		received := time.Now()
		if request.notice != nil {
			if p.send(ctx, request.notice) != nil {
				return
			}
			continue
		}
		var m machine.Handle
		var in machine.Instruction
		problem := request.problem
		if problem == nil {
			m, in, problem = p.execute(ctx, request.exec)
		}
		if p.hold > 0 {
			time.Sleep(time.Until(received.Add(p.hold)))
		}
		if problem != nil {
			if p.reject(ctx, request.exec.RequestID, problem) != nil {
				return
			}
			continue
		}
		if p.send(ctx, wire.ExecReceived{Seq: in.Seq, RequestID: request.exec.RequestID}) != nil {
			return
		}
		relays.Go(func() { p.relay(ctx, m, in.Seq) })
	}
}

// execute finds the machine each time: a socket stays open for days, in which somebody may sign in
// again.
func (p *repl) execute(ctx context.Context, message wire.ExecMessage) (machine.Handle, machine.Instruction, error) {
	opts, err := executeOptions(message.Instruction, p.client)
	if err != nil {
		return nil, machine.Instruction{}, err
	}
	m, err := p.machines.Find(ctx, p.machine)
	if err != nil {
		return nil, machine.Instruction{}, err
	}
	in, _, err := m.Execute(ctx, opts)
	if err != nil {
		err = unlessInBin(m, p.machines.caller, err)
	}
	return m, in, err
}

// relay sends an instruction's output and result. When it cannot be followed to its end, say
// because its machine was removed, the client gets a result all the same: the SDKs would wait for
// ever.
func (p *repl) relay(ctx context.Context, m machine.Handle, seq int) {
	defer func() {
		if problem := recover(); problem != nil { // one socket's trouble must not end the daemon
			p.server.config.Logger.Error("a relay panicked", "machine", p.machine, "seq", seq, "panic", problem, "stack", string(debug.Stack()))
			_ = p.conn.CloseNow()
		}
	}()
	err := relay(ctx, m, seq, relayTo{
		send:     func(m wire.FromServer) error { return p.send(ctx, m) },
		together: p.cork.together,
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	p.server.config.Logger.Debug("an instruction could not be followed", "machine", p.machine, "seq", seq, "err", err)
	_ = p.send(ctx, wire.Result{InstructionID: seq, Result: p.failed(err)})
}

// reject answers an exec that was not taken as if it had failed: after an error message the SDKs
// would hang.
func (p *repl) reject(ctx context.Context, request int64, err error) error {
	if err := p.send(ctx, wire.ExecReceived{Seq: rejected, RequestID: request}); err != nil {
		return err
	}
	return p.send(ctx, wire.Result{InstructionID: rejected, Result: p.failed(err)})
}

// failed is a result that tells an error of ours.
func (p *repl) failed(err error) wire.ExecResult {
	var known *machine.Error
	var answer *failure
	text := "Something went wrong inside ForeverVM; the code was not run to its end. Try again."
	switch {
	case errors.As(err, &known):
		text = known.Message
	case errors.As(err, &answer):
		text = answer.message
	default:
		p.server.config.Logger.Error("exec failed", "machine", p.machine, "err", err)
	}
	return wire.ExecResult{Error: &text}
}

func (p *repl) send(ctx context.Context, m wire.FromServer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := wire.Encode(m)
	if err != nil {
		return err
	}
	// Without the context, whose watching costs as much as the rest: serve closes the connection
	// when it ends, and with it a write.
	return p.conn.Write(context.Background(), websocket.MessageText, data)
}

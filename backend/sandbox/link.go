//go:build linux

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	// callPatience bounds how long the runner may take to answer a question.
	callPatience = 30 * time.Second
	// openPatience bounds how long a daemon may take between starting us and speaking.
	openPatience = 30 * time.Second
)

// daemonLink is the supervisor's end of the link to the daemon.
type daemonLink struct {
	session *yamux.Session
	control net.Conn
	frames  net.Conn
	write   sync.Mutex // of control
}

// openLink waits for the daemon's two streams on our stdin and stdout.
func openLink() (*daemonLink, error) {
	session, err := yamux.Server(protocol.Stdio(os.Stdin, os.Stdout), protocol.Mux())
	if err != nil {
		return nil, err
	}
	l := &daemonLink{session: session}
	for l.control == nil || l.frames == nil {
		stream, err := session.Accept()
		if err != nil {
			session.Close()
			return nil, err
		}
		_ = stream.SetReadDeadline(time.Now().Add(openPatience))
		f, err := protocol.Read(stream)
		_ = stream.SetReadDeadline(time.Time{})
		switch {
		case err == nil && f.Type == protocol.TypeControl && l.control == nil:
			l.control = stream
		case err == nil && f.Type == protocol.TypeFrames && l.frames == nil:
			l.frames = stream
		default:
			session.Close()
			return nil, errors.New("the daemon does not speak our protocol")
		}
	}
	return l, nil
}

// gone is closed when the daemon is.
func (l *daemonLink) gone() <-chan struct{} { return l.session.CloseChan() }

// answer replies to a request on the control stream.
func (l *daemonLink) answer(reply protocol.Reply, payload []byte) {
	l.write.Lock()
	defer l.write.Unlock()
	writeReply(l.control, reply, payload)
}

func writeReply(w io.Writer, reply protocol.Reply, payload []byte) {
	reply.Type = protocol.TypeReply
	if protocol.Write(w, reply, payload) != nil {
		// Too large to send, or nobody listens. The former must not leave anybody waiting.
		_ = protocol.Write(w, protocol.Reply{Type: protocol.TypeReply, ID: reply.ID, Error: "The answer is too large."}, nil)
	}
}

// failure is a reply that tells an error.
func failure(err error) protocol.Reply {
	reply := protocol.Reply{Error: err.Error()}
	var told *told
	if errors.As(err, &told) {
		reply.Kind = told.kind
	}
	return reply
}

// success is a reply with a result.
func success(result any) protocol.Reply {
	b, err := json.Marshal(result)
	if err != nil {
		return failure(err)
	}
	return protocol.Reply{OK: true, Result: b}
}

// told is an error with a kind for the daemon.
type told struct {
	kind, message string
}

func (t *told) Error() string { return t.message }

// serveControl answers the control stream until it ends. What goes to the runner goes in order; the
// rest does not wait for it.
func (s *supervisor) serveControl(ctx context.Context) {
	for {
		f, err := protocol.Read(s.link.control)
		if err != nil {
			return
		}
		var q protocol.Request
		if err := f.Decode(&q); err != nil {
			return
		}
		switch q.Type {
		case protocol.TypeAck:
			s.acks.add(q.Seq, q.Index)
		case protocol.TypeExecute, protocol.TypeInterrupt, protocol.TypeCancel:
			select {
			case s.orders <- order{q, f.Payload}:
			default:
				s.reply(q.ID, failure(errNotReading))
			}
		case protocol.TypeStop:
			s.background(func() { s.serveStop(ctx, q.ID) })
		default:
			s.background(func() { s.reply(q.ID, s.serve(ctx, q)) })
		}
	}
}

func (s *supervisor) reply(id uint64, r protocol.Reply) {
	r.ID = id
	s.link.answer(r, nil)
}

// order is a request that the runner must get in order.
type order struct {
	protocol.Request
	payload []byte
}

// serveOrders passes orders on to the runner, one after another.
func (s *supervisor) serveOrders(ctx context.Context) {
	for {
		select {
		case o := <-s.orders:
			id := o.ID
			o.ID = 0
			if err := s.runner.tell(ctx, o.Request, o.payload); err != nil {
				s.reply(id, failure(err))
			} else {
				s.reply(id, protocol.Reply{OK: true})
			}
		case <-ctx.Done():
			return
		}
	}
}

// serve answers the requests that the supervisor itself takes care of.
func (s *supervisor) serve(ctx context.Context, q protocol.Request) protocol.Reply {
	switch q.Type {
	case protocol.TypeCheckpoint:
		m, err := s.save(ctx, s.unsynced)
		if err != nil {
			return failure(err)
		}
		return success(m)
	case protocol.TypeDiscard:
		return s.discard(q.Checkpoint)
	case protocol.TypeStats:
		return success(s.stats())
	case protocol.TypeLimit:
		return s.changeLimit(ctx, q)
	default:
		return failure(&told{protocol.KindInvalid, "The supervisor knows no request " + q.Type + "."})
	}
}

// limitTries is how often a limit is set where Python has no time, which it is given half a second
// for: a person asks for it once, and the computer may be busy.
const limitTries = 5

// changeLimit sets the memory limit inside, and the hard one outside so that it is never the lower
// one.
func (s *supervisor) changeLimit(ctx context.Context, q protocol.Request) protocol.Reply {
	old, limit := s.memoryLimit(), int64(0)
	if q.LimitBytes != nil {
		limit = *q.LimitBytes
	}
	raised := limit == 0 || limit > old && old > 0
	if raised {
		limitMemory(s.memory, HardLimit(limit))
	}
	var reply protocol.Reply
	for range limitTries {
		var err error
		if reply, _, err = s.ask(ctx, q, nil); err != nil {
			reply = failure(err)
		}
		if reply.Kind != protocol.KindBusy {
			break
		}
	}
	switch {
	case reply.OK:
		s.setLimit(limit)
		// A group that has more already would be killed: the watchdog is gentler.
		if hard := HardLimit(limit); !raised && s.measure().memory < hard {
			limitMemory(s.memory, hard)
		}
	case raised:
		limitMemory(s.memory, HardLimit(old))
	}
	return reply
}

// serveStop saves and ends the sandbox. The answer goes out first.
func (s *supervisor) serveStop(ctx context.Context, id uint64) {
	m, err := s.stop(ctx)
	if err != nil {
		s.reply(id, failure(err))
		return
	}
	s.reply(id, success(m))
	s.finish(ending{cause: protocol.CauseStopped, detail: "The machine was saved and stopped.", checkpoint: &m})
}

// ask passes a question on to the runner.
func (s *supervisor) ask(ctx context.Context, q protocol.Request, payload []byte) (protocol.Reply, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	return s.runner.call(ctx, q, payload)
}

// serveStreams answers one question on each further stream: what is large goes there.
func (s *supervisor) serveStreams(ctx context.Context) {
	for {
		stream, err := s.link.session.Accept()
		if err != nil {
			return
		}
		s.background(func() {
			defer stream.Close()
			s.serveStream(ctx, stream)
		})
	}
}

func (s *supervisor) serveStream(ctx context.Context, stream net.Conn) {
	_ = stream.SetReadDeadline(time.Now().Add(openPatience))
	f, err := protocol.Read(stream)
	if err != nil {
		return
	}
	var q protocol.Request
	if f.Decode(&q) != nil {
		return
	}
	switch q.Type {
	case protocol.TypeComplete, protocol.TypeInspect, protocol.TypeVariables, protocol.TypeTable, protocol.TypeSaveTable,
		protocol.TypeReadFile, protocol.TypeWriteFile, protocol.TypeListFiles, protocol.TypeStatFile,
		protocol.TypeRemove, protocol.TypeFolder, protocol.TypeDisk, protocol.TypeTrust:
	default:
		writeReply(stream, failure(&told{protocol.KindInvalid, "The supervisor knows no question " + q.Type + "."}), nil)
		return
	}
	reply, payload, err := s.ask(ctx, q, f.Payload)
	if err != nil {
		reply, payload = failure(err), nil
	}
	reply.ID = q.ID
	writeReply(stream, reply, payload)
}

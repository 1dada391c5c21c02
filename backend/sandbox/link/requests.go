package link

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// errGone is what requests get when the sandbox has ended.
func errGone() error {
	return &machine.Error{Kind: machine.ErrConflict, Message: "The machine is no longer in memory."}
}

// listen reads replies from the control stream until its end.
func (s *Sandbox) listen(stream net.Conn) {
	defer close(s.heard)
	for {
		f, err := protocol.Read(stream)
		if err != nil {
			s.session.Close()
			return
		}
		var reply protocol.Reply
		if f.Decode(&reply) != nil {
			s.session.Close()
			return
		}
		s.mu.Lock()
		waiting, ok := s.replies[reply.ID]
		delete(s.replies, reply.ID)
		s.mu.Unlock()
		if ok {
			waiting <- reply
		}
	}
}

// request sends a request on the control stream and waits for its reply.
func (s *Sandbox) request(ctx context.Context, q protocol.Request, payload []byte) (protocol.Reply, error) {
	q.ID = s.lastID.Add(1)
	waiting := make(chan protocol.Reply, 1)
	s.mu.Lock()
	if s.replies == nil {
		s.mu.Unlock()
		return protocol.Reply{}, errGone()
	}
	s.replies[q.ID] = waiting
	s.mu.Unlock()
	if err := s.send(q, payload); err != nil {
		if s.session.IsClosed() {
			<-s.heard // it may have been sent, and answered, before
		}
		select {
		case reply, ok := <-waiting:
			if ok {
				return reply, failure(reply)
			}
		default:
		}
		s.mu.Lock()
		delete(s.replies, q.ID)
		s.mu.Unlock()
		return protocol.Reply{}, err
	}
	select {
	case reply, ok := <-waiting:
		if !ok {
			return protocol.Reply{}, errGone()
		}
		return reply, failure(reply)
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.replies, q.ID)
		s.mu.Unlock()
		return protocol.Reply{}, ctx.Err()
	}
}

func (s *Sandbox) send(q protocol.Request, payload []byte) error {
	frame, err := protocol.Encode(q, payload)
	if err != nil {
		return &machine.Error{Kind: machine.ErrInvalid, Message: "This is too large to be sent to a machine: at most 8 MiB go at once.", Cause: err}
	}
	s.write.Lock()
	defer s.write.Unlock()
	if _, err := s.control.Write(frame); err != nil {
		return errGone()
	}
	return nil
}

// ask sends a question on a stream of its own, so that what is large delays nothing else.
func (s *Sandbox) ask(ctx context.Context, q protocol.Request, payload []byte) (protocol.Reply, []byte, error) {
	frame, err := protocol.Encode(q, payload)
	if err != nil {
		return protocol.Reply{}, nil, &machine.Error{Kind: machine.ErrInvalid, Message: "This is too large to be sent to a machine: at most 8 MiB go at once.", Cause: err}
	}
	stream, err := s.session.Open()
	if err != nil {
		return protocol.Reply{}, nil, errGone()
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { _ = stream.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var f protocol.Frame
	if _, err = stream.Write(frame); err == nil {
		f, err = protocol.Read(stream)
	}
	if err != nil {
		if ctx.Err() != nil {
			return protocol.Reply{}, nil, ctx.Err()
		}
		if errors.Is(err, protocol.ErrViolation) {
			return protocol.Reply{}, nil, err
		}
		return protocol.Reply{}, nil, errGone()
	}
	var reply protocol.Reply
	if err := f.Decode(&reply); err != nil {
		return protocol.Reply{}, nil, err
	}
	return reply, f.Payload, failure(reply)
}

// failure makes the domain's error of a reply that tells one; nil when it does not.
func failure(r protocol.Reply) error {
	if r.OK {
		return nil
	}
	kind := machine.ErrInvalid
	switch r.Kind {
	case protocol.KindDiskFull:
		kind = machine.ErrDiskFull
	case protocol.KindUnusable:
		kind = machine.ErrCheckpointUnusable
	case protocol.KindConflict:
		kind = machine.ErrConflict
	case protocol.KindUnavailable:
		kind = machine.ErrUnavailable
	case protocol.KindBusy:
		kind = machine.ErrBusy
	}
	message := plain(r.Error, maxSentence)
	if message == "" {
		message = "The machine could not do that and did not say why."
	}
	return &machine.Error{Kind: kind, Message: message}
}

// Execute queues an instruction; its frames tell what becomes of it.
func (s *Sandbox) Execute(ctx context.Context, seq int, code string, formats []string) error {
	_, err := s.request(ctx, protocol.Request{Type: protocol.TypeExecute, Seq: seq, Formats: formats}, []byte(code))
	return err
}

// Interrupt asks the running instruction to stop, harder each time.
func (s *Sandbox) Interrupt(ctx context.Context, seq int) error {
	_, err := s.request(ctx, protocol.Request{Type: protocol.TypeInterrupt, Seq: seq}, nil)
	return err
}

// Cancel takes a queued instruction back.
func (s *Sandbox) Cancel(ctx context.Context, seq int) error {
	_, err := s.request(ctx, protocol.Request{Type: protocol.TypeCancel, Seq: seq}, nil)
	return err
}

// Ack tells that everything of an instruction up to index is stored for good. When it does not get
// through, the frames come again.
func (s *Sandbox) Ack(seq, index int) {
	_ = s.send(protocol.Request{Type: protocol.TypeAck, Seq: seq, Index: index}, nil)
}

// Checkpoint saves the state and keeps running. The state is durable when it returns, unless Start
// said that it need not be. The machine goes on then: there is no need to call anybody before.
func (s *Sandbox) Checkpoint(ctx context.Context, _ func()) (machine.CheckpointInfo, error) {
	return s.save(ctx, protocol.TypeCheckpoint)
}

// Stop saves the state, durable when it returns, and ends the sandbox. It returns when nothing of
// that is left. With an error the sandbox goes on.
func (s *Sandbox) Stop(ctx context.Context) (machine.CheckpointInfo, error) {
	info, err := s.save(ctx, protocol.TypeStop)
	if err != nil {
		return info, err
	}
	select {
	case <-s.ended:
	case <-ctx.Done(): // saved all the same
	}
	return info, nil
}

func (s *Sandbox) save(ctx context.Context, how string) (machine.CheckpointInfo, error) {
	if s.opts.Rush != nil {
		defer s.opts.Rush()()
	}
	reply, err := s.request(ctx, protocol.Request{Type: how}, nil)
	if err != nil {
		return machine.CheckpointInfo{}, err
	}
	m, err := checkpoint.Parse(reply.Result)
	if err != nil {
		return machine.CheckpointInfo{}, err
	}
	return Info(m), nil
}

// Discard removes a checkpoint that has been carried away from the supervisor's own folder.
func (s *Sandbox) Discard(ctx context.Context, checkpoint string) error {
	_, err := s.request(ctx, protocol.Request{Type: protocol.TypeDiscard, Checkpoint: checkpoint}, nil)
	return err
}

// SetMemoryLimit changes what programs inside may use beyond the template.
func (s *Sandbox) SetMemoryLimit(ctx context.Context, memoryMB int) error {
	limit := int64(memoryMB) << 20
	_, err := s.request(ctx, protocol.Request{Type: protocol.TypeLimit, LimitBytes: &limit}, nil)
	return err
}

// Stats are the live figures.
func (s *Sandbox) Stats(ctx context.Context) (machine.Stats, error) {
	reply, err := s.request(ctx, protocol.Request{Type: protocol.TypeStats}, nil)
	if err != nil {
		return machine.Stats{}, err
	}
	var stats protocol.Stats
	if err := json.Unmarshal(reply.Result, &stats); err != nil {
		return machine.Stats{}, err
	}
	return machine.Stats{MemoryBytes: stats.MemoryBytes, UsedBytes: stats.UsedBytes, CPUSeconds: stats.CPUSeconds}, nil
}

func nonsense(err error) error {
	return &machine.Error{Kind: machine.ErrInvalid, Message: "The machine's answer makes no sense.", Cause: err}
}

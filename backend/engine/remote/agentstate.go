//go:build linux

package remote

import (
	"context"
	"io"

	"github.com/forevervm/desktop/backend/machine"
)

// export tells of a checkpoint, and holds it to be read until the daemon lets go.
func (s *serving) export(ctx context.Context, cancel context.CancelFunc, r *request) error {
	defer cancel()
	open, err := s.Store.Export(ctx, r.Machine, r.ask.Checkpoint)
	if err != nil {
		return r.say(answer{Type: sayDone, Failure: failureOf(err)})
	}
	defer open.Close()
	s.mu.Lock()
	number := s.number()
	s.exports[number] = open
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.exports, number)
	}()
	if err := r.say(answer{Type: sayDone, State: stateOf(open.State), Pipe: number}); err != nil {
		return err
	}
	_, _ = r.hear() // nothing comes but the end
	return nil
}

// read sends one file of what was exported.
func (s *serving) read(r *request) error {
	s.mu.Lock()
	open, ok := s.exports[r.Pipe]
	s.mu.Unlock()
	if !ok {
		return r.say(answer{Type: sayDone, Failure: &failure{Message: "Nothing was exported under this number."}})
	}
	file, err := open.Open(r.File)
	if said := r.say(answer{Type: sayDone, Failure: failureOf(err)}); said != nil || err != nil {
		return said
	}
	defer file.Close()
	_, err = io.Copy(r.Conn, file)
	return err
}

// importState takes a state, asking for one file after the other.
func (s *serving) importState(ctx context.Context, r *request) error {
	if err := r.State.check(); err != nil {
		return r.say(answer{Type: sayDone, Failure: failureOf(err)})
	}
	info, err := s.Store.Import(ctx, r.Machine, r.State.saved(), func(f machine.StateFile) (io.Reader, error) {
		if err := r.say(answer{Type: sayFile, File: f.Name}); err != nil {
			return nil, err
		}
		return io.LimitReader(r.Conn, f.Size), nil
	})
	if err != nil {
		return r.say(answer{Type: sayDone, Failure: failureOf(err)})
	}
	return r.say(answer{Type: sayDone, Checkpoint: checkpointOf(info)})
}

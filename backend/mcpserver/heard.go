package mcpserver

import (
	"errors"
	"sync"

	"github.com/forevervm/desktop/backend/client"
)

// heard tells the daemon which programs are there, and how many tools they have called, so that
// people see that it works. No program waits for it: what is counted while the daemon is being
// told, or cannot be, is told of the next time.
type heard struct {
	tell func(by program, calls int) (noted bool)

	telling sync.WaitGroup
	mu      sync.Mutex // guards what follows
	all     map[program]*untold
	ended   bool
}

// untold is what the daemon has yet to be told of a program.
type untold struct {
	calls int
	busy  bool // it is just being told
}

// of notes that a program was heard from, and has called so many tools.
func (h *heard) of(by program, calls int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	u := h.all[by]
	if u == nil {
		u = &untold{}
		h.all[by] = u
	}
	u.calls += calls
	if !u.busy {
		u.busy = true
		h.telling.Go(func() { h.tellAll(by, u) })
	}
}

// tellAll tells of a program until there is nothing left to tell.
func (h *heard) tellAll(by program, u *untold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		calls := u.calls
		u.calls = 0
		h.mu.Unlock()
		noted := h.tell(by, calls)
		h.mu.Lock()
		if !noted {
			u.calls += calls
			u.busy = false
			return
		}
		if u.calls == 0 {
			delete(h.all, by)
			return
		}
	}
}

// end waits until what was heard is told.
func (h *heard) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.telling.Wait()
}

// tell tells the daemon of a program, and says whether that need not be done again: a server that
// cannot be told is no concern of the program's, and one that broke off may have noted it.
func (s *Server) tell(by program, calls int) (noted bool) {
	err := s.machines(by.name, by.version).Hello(s.closing, calls)
	if err != nil && s.closing.Err() == nil && !errors.Is(err, client.ErrUnsupported) {
		s.opts.Logger.Warn("the daemon was not told which program has connected", "err", err)
	}
	return err == nil || errors.Is(err, client.ErrUnsupported) || errors.Is(err, client.ErrDropped)
}

//go:build linux

package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// savePatience bounds how long an agent, or a supervisor after it, may take to save what is in
	// memory. An agent that takes longer is killed; its supervisors go on.
	savePatience = 90 * time.Second
	// markPatience bounds how long the computer may take to take the mark.
	markPatience = 15 * time.Second
)

// agent is the one that runs, if one does.
type agent struct {
	children children

	turn sync.Mutex // held while one is started or ended
	mu   sync.Mutex
	pid  int           // 0 for none
	gone chan struct{} // closed when it has ended
}

// start ends an earlier agent, and starts one on what open returns. ended is called when it has
// ended.
func (a *agent) start(open func() (fd int, err error), mark string, ended func()) error {
	a.turn.Lock()
	defer a.turn.Unlock()
	a.end()
	fd, err := open()
	if err != nil {
		return err
	}
	defer unix.Close(fd) // the agent has its own
	if err := writeAll(fd, mark+"\n"); err != nil {
		return fmt.Errorf("the computer does not take what the agent says: %w", err)
	}
	args := []string{partsFolder + "/agent", "-parts", partsFolder, "-sums", partsFolder + "/sums", "-data", dataFolder + "/machines"}
	pid, status, err := a.children.start(args[0], args, []uintptr{uintptr(fd), uintptr(fd), 2})
	if err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	gone := make(chan struct{})
	a.mu.Lock()
	a.pid, a.gone = pid, gone
	a.mu.Unlock()
	go func() {
		if s := <-status; s.Signaled() || s.ExitStatus() != 0 {
			say("the agent ended by %v, with %d", s.Signal(), s.ExitStatus())
		}
		a.mu.Lock()
		a.pid = 0
		a.mu.Unlock()
		close(gone)
		ended()
	}()
	return nil
}

// end ends the agent, which saves its machines. turn is held.
func (a *agent) end() {
	a.mu.Lock()
	pid, gone := a.pid, a.gone
	a.mu.Unlock()
	if pid == 0 {
		return
	}
	_ = unix.Kill(pid, unix.SIGTERM)
	select {
	case <-gone:
	case <-time.After(savePatience):
		say("the agent does not end, and is killed")
		_ = unix.Kill(pid, unix.SIGKILL)
		<-gone
	}
}

// finish ends the agent, and waits until every supervisor has saved its machine.
func (a *agent) finish() {
	a.turn.Lock() // for good: no other one starts
	a.end()
	for over := time.After(savePatience); !a.children.none(); {
		select {
		case <-a.children.reaped:
		case <-over:
			say("not every machine could be saved in time")
			return
		}
	}
}

// tryAgain is how often it is looked whether the computer is there.
const tryAgain = 20 * time.Millisecond

// writeAll writes to a descriptor that does not block.
func writeAll(fd int, text string) error {
	end := time.Now().Add(markPatience)
	for b := []byte(text); len(b) > 0; {
		n, err := unix.Write(fd, b)
		b = b[max(n, 0):]
		if errors.Is(err, unix.EAGAIN) {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			_, err = unix.Poll(ready, int(max(0, time.Until(end)).Milliseconds()))
			switch {
			case time.Now().After(end):
				return errors.New("it takes too long")
			case err == nil && ready[0].Revents&unix.POLLOUT == 0:
				time.Sleep(tryAgain) // nobody is at the other end, and poll does not wait for somebody
			}
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return nil
}

//go:build linux

package main

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// children are the processes below this one: agents, which it has started, and what lost its
// parent, such as a supervisor that saves its machine after its agent has ended.
type children struct {
	mu      sync.Mutex
	waiting map[int]chan<- unix.WaitStatus // for those that it has started
	reaped  chan struct{}                  // holds one where any has ended since it was last taken
}

// start starts a program, and returns its process and where it is told how that ends.
func (c *children) start(path string, args []string, files []uintptr) (pid int, ended <-chan unix.WaitStatus, err error) {
	c.mu.Lock()
	defer c.mu.Unlock() // else it may be reaped before it is known
	pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{
		Dir: "/", Env: []string{"HOME=/", "TMPDIR=/tmp"}, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, err
	}
	told := make(chan unix.WaitStatus, 1)
	c.waiting[pid] = told
	return pid, told, nil
}

// reap takes note of each process that ends, as the first one of a system must.
func (c *children) reap() {
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	for range died {
		for c.reapOne() {
		}
		select {
		case c.reaped <- struct{}{}:
		default:
		}
	}
}

func (c *children) reapOne() bool {
	var status unix.WaitStatus
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
	if errors.Is(err, unix.EINTR) {
		return true
	}
	if err != nil || pid <= 0 {
		return false
	}
	if told := c.waiting[pid]; told != nil {
		delete(c.waiting, pid)
		told <- status
	}
	return true
}

// none says whether there is no process any more but this one.
func (c *children) none() bool {
	return errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD)
}

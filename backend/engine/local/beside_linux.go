package local

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// beside does something that takes a processor for a while on a thread that gives way to others.
// The thread ends with it, as an ordinary user's cannot become like others again.
func beside(do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness) // else it is as fast as others
		done <- do()
	}()
	return <-done
}

package local

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// niceness is how far what nobody waits for stands back: machines and their next instructions go first. It gets a quarter of a processor that others want
// whole, as in the end somebody does wait: for a state to be durable, or for a machine to be gone.
const niceness = 5

// beside does something that takes a processor for a while on a thread that gives way to others. The thread ends with it, as an ordinary user's
// cannot become like others again.
func beside(do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness) // else it is as fast as others
		done <- do()
	}()
	return <-done
}

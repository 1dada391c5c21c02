//go:build !windows

package enginetest

import (
	"errors"
	"syscall"
	"testing"
)

// kill ends a process that the engine under test started.
func kill(t testing.TB, pid int) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("the process id %d", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Errorf("kill: %v", err)
	}
}

package enginetest

import (
	"os"
	"testing"
)

// kill ends a process that the engine under test started.
func kill(t testing.TB, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Errorf("kill: %v", err)
	}
}

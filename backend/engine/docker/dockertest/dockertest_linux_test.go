//go:build system

package dockertest

import (
	"bufio"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// A Docker that ended with one of our threads took all tests after it along.
func TestThreadsEndAndTheProgramGoesOn(t *testing.T) {
	cat := exec.Command("cat")
	cat.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var let func()
	onThreadThatEnds(func() { let, err = startHeld(cat) })
	defer let()
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	for range 1000 {
		if _, err := fmt.Fprintln(in, "still here"); err != nil {
			t.Fatal(err)
		}
		if line, err := said.ReadString('\n'); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
	in.Close()
	if err := cat.Wait(); err != nil {
		t.Error(err)
	}
}

// onThreadThatEnds is not on the first one, which stays.
func onThreadThatEnds(do func()) {
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread()
		if syscall.Gettid() == syscall.Getpid() {
			onThreadThatEnds(do)
			return
		}
		do()
	})
	done.Wait()
}

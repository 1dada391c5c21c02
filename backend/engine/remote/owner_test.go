//go:build linux

package remote

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// Who wants a place for itself waits for the agents there.
func TestAlone(t *testing.T) {
	data := t.TempDir()
	if held, err := Alone(data); err != nil || held.Close() != nil {
		t.Errorf("where there was never an agent: %v", err)
	}
	agent, err := TakeOver(data, anOwner)
	if err != nil {
		t.Fatal(err)
	}
	var ended atomic.Bool
	go func() {
		ended.Store(true)
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	}()
	held, err := Alone(data)
	if err != nil || !ended.Load() {
		t.Errorf("it is alone beside an agent: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}

const anOwner = "0123456789abcdef0123456789abcdef"

// TestHolds is no test, but the earlier agent of TestTakeOver: it saves until its input ends.
func TestHolds(t *testing.T) {
	data := os.Getenv("FOREVERVM_TEST_HOLDS")
	if data == "" {
		return
	}
	held, err := TakeOver(data, anOwner)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// An earlier agent is told to end if its number means it here, also if it is of a version that says
// the number alone. What has that number by chance is left alone, and so is the new agent itself.
func TestTakeOver(t *testing.T) {
	for name, c := range map[string]struct {
		says func(pid int) string // in place of what it says by itself
		told bool
	}{
		"from here":                 {nil, true},
		"of an earlier version":     {func(pid int) string { return fmt.Sprintf("%020d", pid) }, true},
		"from another name space":   {func(pid int) string { return fmt.Sprintf("%020d elsewhere pid:[1]", pid) }, false},
		"by its successor's number": {func(int) string { return fmt.Sprintf("%020d", os.Getpid()) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			earlier := exec.Command(os.Args[0], "-test.run=^TestHolds$")
			earlier.Env = append(os.Environ(), "FOREVERVM_TEST_HOLDS="+data)
			saves, err := earlier.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			says, err := earlier.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := earlier.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(says)
			if line, err := lines.ReadString('\n'); line != "held\n" {
				t.Errorf("it says %q, %v", line, err)
			}
			if c.says != nil {
				if err := os.WriteFile(filepath.Join(data, "owners", anOwner), []byte(c.says(earlier.Process.Pid)), 0o600); err != nil {
					t.Error(err)
				}
			}
			if !c.told { // it ends by itself, after the new one has had the time to tell it
				time.AfterFunc(200*time.Millisecond, func() { saves.Close() })
			}
			held, err := TakeOver(data, anOwner)
			if err != nil {
				t.Error(err)
			} else if err := held.Close(); err != nil {
				t.Error(err)
			}
			saves.Close()
			_, _ = io.Copy(io.Discard, lines)
			if err := earlier.Wait(); (err != nil) != c.told {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

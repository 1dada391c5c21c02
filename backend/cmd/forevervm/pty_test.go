//go:build !windows && real

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// typist sits at a terminal in which the program runs.
type typist struct {
	t        *testing.T
	terminal *os.File
	cmd      *exec.Cmd
	ended    chan struct{}

	mu   sync.Mutex
	seen string // all that the terminal showed
	read int    // how much of it was waited for already
}

// sit starts the program in a terminal.
func sit(t *testing.T, dir string, args ...string) *typist {
	t.Helper()
	cmd := exec.Command(connecttest.Program(t, "forevervm"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	p := &typist{t: t, terminal: terminal, cmd: cmd, ended: make(chan struct{})}
	go p.watch()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended on its own
		<-p.ended
	})
	return p
}

// watch reads what the terminal shows until the program has ended.
func (p *typist) watch() {
	defer close(p.ended)
	buffer := make([]byte, 4096)
	for {
		n, err := p.terminal.Read(buffer)
		p.mu.Lock()
		p.seen += string(buffer[:n])
		p.mu.Unlock()
		if err != nil {
			break
		}
	}
	_ = p.cmd.Wait() // its status is asked for below
	_ = p.terminal.Close()
}

func (p *typist) types(text string) {
	p.t.Helper()
	if _, err := p.terminal.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits until the terminal shows a text after what was waited for before.
func (p *typist) sees(text string) {
	p.t.Helper()
	defer func() {
		if p.t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Logf("the terminal showed %q", p.seen[p.read:])
		}
	}()
	connecttest.Eventually(p.t, "the terminal shows "+text, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		i := strings.Index(p.seen[p.read:], text)
		if i >= 0 {
			p.read += i + len(text)
		}
		return i >= 0
	})
}

// leaves waits for the program's end and returns its status.
func (p *typist) leaves() int {
	p.t.Helper()
	connecttest.Eventually(p.t, "the program ends", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	return p.cmd.ProcessState.ExitCode()
}

const enter, tab, up, ctrlC, ctrlD = "\r", "\t", "\x1b[A", "\x03", "\x04"

func TestReplAtATerminal(t *testing.T) {
	dir := t.TempDir()
	p := sit(t, dir, "repl")
	p.sees("Ctrl-D leaves")
	p.sees(">>> ")
	p.types("21 * 2" + enter)
	p.sees("42\r\n")

	p.types("for i in range(2):" + enter)
	p.sees("... ")
	p.types("    print('number', i)" + enter + enter)
	p.sees("number 0\r\nnumber 1\r\n")

	p.types("a_long_name = 'completed'" + enter)
	p.sees(">>> ")
	p.types("a_lon" + tab)
	p.sees("a_long_name")
	p.types(enter)
	p.sees("'completed'\r\n")

	// The traceback has colours; what could command the terminal does not go through.
	p.types("1/0" + enter)
	p.sees("\x1b[")
	p.sees("ZeroDivisionError")
	p.types(`print("\x1b]0;a new title\x07" + "\x1b[31mred\x1b[0m")` + enter)
	p.sees("\x1b[31mred\x1b[0m\r\n")
	p.mu.Lock()
	if strings.Contains(p.seen, "\x1b]0;a new title") {
		t.Error("a machine has set the terminal's title")
	}
	p.mu.Unlock()

	p.types("import time; print('sleeping', flush=True); time.sleep(600)" + enter)
	p.sees("sleeping\r\n")
	p.types(ctrlC)
	p.sees("KeyboardInterrupt")
	p.sees(">>> ")

	p.types("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()" + enter)
	p.sees("saved ")
	p.sees(".png\r\n")
	if plots, err := filepath.Glob(filepath.Join(dir, "*-1.png")); err != nil || len(plots) != 1 {
		t.Errorf("saved plots: %v, %v", plots, err)
	}

	// Lines with blank ones among them, pasted, are one piece of code.
	p.types("\x1b[200~def pasted():\r    x = 1\r\r    return x + 1\r\x1b[201~")
	p.sees("return x + 1\r\n")
	p.types(enter + "pasted() * 100" + enter)
	p.sees("200\r\n")

	p.types(up + up)
	p.sees("return x + 1")
	p.types(ctrlC)
	p.sees(">>> ")
	p.types(ctrlD)
	if status := p.leaves(); status != 0 {
		t.Errorf("it left with status %d", status)
	}

	// What was typed is there the next time.
	again := sit(t, dir, "repl")
	again.sees(">>> ")
	again.types(up)
	again.sees("pasted() * 100")
	again.types(ctrlC)
	again.sees(">>> ")
	again.types(ctrlD)
	again.leaves()
}

func TestDeletingAsksAtATerminal(t *testing.T) {
	dir := t.TempDir()
	if said, err := exec.Command(connecttest.Program(t, "forevervm"), "machine", "new", "--name", "precious").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	p := sit(t, dir, "machine", "delete", "precious")
	p.sees("Move precious to the bin?")
	p.types("\n")
	p.sees("nothing was removed")
	if status := p.leaves(); status != statusFailed {
		t.Errorf("it left with status %d", status)
	}
	p = sit(t, dir, "machine", "delete", "precious")
	p.sees("[y/N]")
	p.types("y\n")
	p.sees("restore precious")
	if status := p.leaves(); status != 0 {
		t.Errorf("it left with status %d", status)
	}
}

// Ctrl-C at `exec` interrupts the code, and the program tells by its status that it raised.
func TestInterruptingExec(t *testing.T) {
	if said, err := exec.Command(connecttest.Program(t, "forevervm"), "machine", "new", "--name", "interrupted").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	p := sit(t, t.TempDir(), "exec", "interrupted", "import time; print('begun', flush=True); time.sleep(600)")
	p.sees("begun")
	p.types(ctrlC)
	p.sees("KeyboardInterrupt")
	if status := p.leaves(); status != statusRaised {
		t.Errorf("it left with status %d", status)
	}
}

// A Claude Desktop that runs is quit for a change, and started again, where the person says so.
func TestClaudeDesktopIsQuitWhenThePersonAgrees(t *testing.T) {
	user := t.TempDir()
	settings, pids, program := filepath.Join(user, ".config", "Claude", "claude_desktop_config.json"), filepath.Join(user, "pids"), filepath.Join(user, "claude-desktop")
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(settings), 0o755), os.WriteFile(program, shell, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", user)
	t.Setenv("XDG_CONFIG_HOME", "")
	claude := exec.Command(program, "-c", `trap 'exit 0' TERM; echo $$ >>"$HOME/pids"; while :; do sleep 0.05; done`)
	if err := claude.Start(); err != nil {
		t.Fatal(err)
	}
	started := func() []string {
		text, _ := os.ReadFile(pids)
		return strings.Fields(string(text))
	}
	t.Cleanup(func() {
		for _, pid := range started() {
			if number, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(number, syscall.SIGKILL) // it may have ended
			}
		}
		_ = claude.Wait()
	})
	connecttest.Eventually(t, "it runs", func() bool { return len(started()) == 1 })

	p := sit(t, user, "connect", "claude")
	p.sees("Claude Desktop runs.")
	p.sees("[y/N] ")
	p.types("n" + enter)
	p.sees("Quit it, from its tray or menu too")
	if p.leaves() != 0 || len(started()) != 1 {
		t.Error("it was quit against the person's will")
	}
	p = sit(t, user, "disconnect", "claude")
	p.sees("[y/N] ")
	p.types("y" + enter)
	p.sees("Claude Desktop was quit and started again.")
	if p.leaves() != 0 {
		t.Error("it failed")
	}
	connecttest.Eventually(t, "it was started again", func() bool { return len(started()) == 2 })
	p = sit(t, user, "disconnect", "claude")
	p.sees("nothing to change")
	p.leaves()
}

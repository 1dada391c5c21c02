//go:build linux

package aiapps_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/aiapps"
	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// claude is a program of Claude Desktop's name, which runs the script at every start. Its settings
// are in $HOME, as the person's.
type claude struct {
	t      *testing.T
	user   string // the person's home
	config string
	*aiapps.Manager
}

func newClaude(t *testing.T, script string) *claude {
	t.Helper()
	return newClaudeBy(t, script, "")
}

// newClaudeBy has it started by a launcher, where that is not "".
func newClaudeBy(t *testing.T, script, launcher string) *claude {
	t.Helper()
	c := &claude{t: t, user: t.TempDir()}
	c.config = filepath.Join(c.user, ".config", "Claude", "claude_desktop_config.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(c.config), 0o755), os.WriteFile(c.config, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	// A copy of the shell under the app's name, which runs a script.
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(c.user, "claude-desktop")
	if launcher != "" {
		by := program
		program = filepath.Join(c.user, "lib", "claude-desktop", "electron")
		if err := errors.Join(os.MkdirAll(filepath.Dir(program), 0o755), os.WriteFile(by, []byte(launcher), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(program, shell, 0o755), os.WriteFile(filepath.Join(c.user, "script"), []byte(script), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", c.user)
	t.Setenv("XDG_CONFIG_HOME", "")
	computer, err := aiapps.ThisComputer()
	if err != nil {
		t.Fatal(err)
	}
	c.Manager = aiapps.New(aiapps.Config{Computer: computer, Server: server, Folder: filepath.Join(t.TempDir(), "apps")})
	t.Cleanup(func() { // whichever of it runs ends
		for _, one := range c.programs() {
			if process, err := os.FindProcess(one.PID); err == nil {
				_ = process.Kill()
			}
		}
	})
	cmd := exec.Command(filepath.Join(c.user, "claude-desktop"), "script", "as it was", "started")
	cmd.Env = append(os.Environ(), "DISPLAY=:77")
	cmd.Dir = c.user
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	connecttest.Eventually(t, "it runs", func() bool { return c.said("started") != "" })
	return c
}

func (c *claude) programs() []aiapps.Program {
	c.t.Helper()
	computer, err := aiapps.ThisComputer()
	if err != nil {
		c.t.Fatal(err)
	}
	programs, err := computer.Programs()
	if err != nil {
		c.t.Fatal(err)
	}
	return programs
}

// said is what the program has written into a file beside it; "" for nothing yet.
func (c *claude) said(file string) string {
	text, _ := os.ReadFile(filepath.Join(c.user, file))
	return string(text)
}

// As a real one does, it writes back at its end what it had in memory, so that a change made while
// it runs is lost.
const writesBack = `
config=$HOME/.config/Claude/claude_desktop_config.json
memory=$(cat $config)
trap 'printf %s "$memory" >$config; exit 0' TERM
printf '%s\n' "$*|$PWD|$DISPLAY|$(grep -c '"forevervm"' $config)" >>started
while :; do sleep 0.05; done
`

func TestClaudeDesktopIsQuitForAChangeAndStartedAgain(t *testing.T) {
	c := newClaude(t, writesBack)
	status, err := c.Status("claude")
	if err != nil || !status[0].Running {
		t.Fatalf("%+v, %v", status, err)
	}
	// Without being quit, it undoes the change.
	report, err := c.Connect("claude", aiapps.Options{})
	if err != nil || !report.Running || report.Restarted {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, err := c.Disconnect("claude", aiapps.Options{}); err != nil {
		t.Fatal(err)
	}
	before := c.programs()[0].PID
	report, err = c.Connect("claude", aiapps.Options{Restart: true})
	if err != nil || report.Running || !report.Restarted || report.Next != "" {
		t.Fatalf("%+v, %v", report, err)
	}
	connecttest.Eventually(t, "it was started again", func() bool { return strings.Count(c.said("started"), "\n") == 2 })
	was := "as it was started|" + c.user + "|:77|"
	if got, want := c.said("started"), was+"0\n"+was+"1\n"; got != want {
		t.Errorf("it was started with\n%swant\n%s", got, want)
	}
	var after []aiapps.Program
	connecttest.Eventually(t, "one of it runs", func() bool { // its script's shell forks for a moment
		after = c.programs()
		return len(after) == 1
	})
	if after[0].PID == before {
		t.Errorf("it runs as %+v, and was %d", after, before)
	}
	if status, err = c.Status("claude"); err != nil || status[0].State != aiapps.Connected || !status[0].Running {
		t.Errorf("%+v, %v", status, err)
	}
	// Where there is nothing to change it stays.
	if report, err := c.Connect("claude", aiapps.Options{Restart: true}); err != nil || report.Restarted || c.programs()[0].PID != after[0].PID {
		t.Errorf("%+v, %v", report, err)
	}
}

// What others build of it for Linux is a script that starts Electron. Asking the script alone to
// end would leave that running, to undo the change later.
func TestAClaudeDesktopThatAScriptStarts(t *testing.T) {
	c := newClaudeBy(t, writesBack, "#!/bin/sh\n$HOME/lib/claude-desktop/electron \"$@\"\nexit\n")
	report, err := c.Connect("claude", aiapps.Options{Restart: true})
	if err != nil || !report.Restarted {
		t.Fatalf("%+v, %v", report, err)
	}
	connecttest.Eventually(t, "it was started again", func() bool { return strings.Count(c.said("started"), "\n") == 2 })
	was := "as it was started|" + c.user + "|:77|"
	if got, want := c.said("started"), was+"0\n"+was+"1\n"; got != want {
		t.Errorf("it was started with\n%swant\n%s", got, want)
	}
	if status, err := c.Status("claude"); err != nil || status[0].State != aiapps.Connected || !status[0].Running {
		t.Errorf("%+v, %v", status, err)
	}
}

// An app that has another home reads other settings.
func TestAnAppOfAnotherHomeDoesNotCount(t *testing.T) {
	c := newClaude(t, writesBack)
	t.Setenv("HOME", t.TempDir())
	if programs := c.programs(); len(programs) != 0 {
		t.Errorf("%+v", programs)
	}
	t.Setenv("HOME", c.user)
}

// Whatever an app does that is asked to quit, nothing is lost, and the person is told.
func TestAnAppThatCannotBeQuitForAChange(t *testing.T) {
	for name, c := range map[string]struct {
		trap, start string // what it does when it is asked to end, and when it starts
		kind        error
		says        string
		changes     int
		restarted   bool
		state       aiapps.State
		running     bool
	}{
		"it takes the entry out when it starts": {
			"exit 0", `[ $(wc -l <started) = 1 ] || printf '{"mcpServers": {}}' >$HOME/.config/Claude/claude_desktop_config.json`,
			aiapps.ErrFile, "took the entry out", 1, true, aiapps.Wiped, true,
		},
		"it is gone when it is to start again": {
			"mv $HOME/claude-desktop $HOME/away; exit 0", "",
			aiapps.ErrRuns, "Start it yourself", 1, false, aiapps.Connected, false,
		},
		"it does not end": { // it is not killed, and nothing is changed under it
			":", "",
			aiapps.ErrRuns, "did not quit when asked", 0, false, aiapps.NotConnected, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := newClaude(t, "trap 'echo asked >asked; "+c.trap+"' TERM\necho x >>started\n"+c.start+"\nwhile :; do sleep 0.05; done\n")
			report, err := app.Connect("claude", aiapps.Options{Restart: true})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || len(report.Changes) != c.changes || report.Restarted != c.restarted {
				t.Errorf("%+v, %v", report, err)
			}
			if app.said("asked") == "" {
				t.Error("it was not asked")
			}
			if status, err := app.Status("claude"); err != nil || status[0].State != c.state || status[0].Running != c.running {
				t.Errorf("%+v, %v", status, err)
			}
		})
	}
}

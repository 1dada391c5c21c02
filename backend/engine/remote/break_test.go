//go:build linux && real

package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/machine"
)

// awake brings a machine into memory whose x is 41, with an instruction under way that makes it 42
// once there is a file.
func awake(t *testing.T, p *Place, id machine.ID) machine.Sandbox {
	t.Helper()
	box, err := p.Start(t.Context(), machine.StartSpec{ID: id, Name: "test", Image: "base", MemoryMB: 512, Life: "first"})
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan bool, 1)
	go func() {
		for f := range box.Frames() {
			if f.Type == machine.FrameItem && strings.Contains(string(f.Item.Text), "begun") {
				begun <- true
			}
		}
	}()
	if err := box.Execute(t.Context(), 0, "import os, time\nx = 41\nprint('begun')\nwhile not os.path.exists('/root/go'): time.sleep(0.01)\nx += 1\nx", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Fatal("it does not begin")
	}
	return box
}

// goesOn reclaims a machine, which was saved while it ran, and lets it get to its end.
func goesOn(t *testing.T, p *Place, id machine.ID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	info, err := p.Reclaim(ctx, id, "first", nil)
	if err != nil || info == nil || info.RunningSeq == nil || *info.RunningSeq != 0 {
		t.Fatalf("its supervisor left %+v, %v", info, err)
	}
	box, err := p.Start(ctx, machine.StartSpec{ID: id, Name: "test", Image: "base", MemoryMB: 512, Life: "second", Checkpoint: info.ID})
	if err != nil {
		t.Fatal(err)
	}
	value := make(chan string, 1)
	go func() {
		for f := range box.Frames() {
			if f.Type == machine.FrameResult && f.Result.Value != nil {
				value <- *f.Result.Value
			}
		}
	}()
	if err := box.WriteFile(ctx, machine.FilePiece{Path: "/root/go", Part: strings.Repeat("0", 32), Last: true}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-value:
		if got != "42" {
			t.Errorf("it became %s", got)
		}
	case <-ctx.Done():
		t.Error("it does not get to its end")
	}
	box.Kill()
	<-box.Ended()
	if err := p.Purge(ctx, id); err != nil {
		t.Error(err)
	}
}

// agentOf is the process of the agent that holds a home's name.
func agentOf(t *testing.T, data, owner string) int {
	t.Helper()
	file, err := os.Open(filepath.Join(data, "owners", owner))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return holder(file)
}

func isApart(t *testing.T, box machine.Sandbox) {
	t.Helper()
	select {
	case <-box.Ended():
	case <-time.After(time.Minute):
		t.Fatal("nobody notices")
	}
	if cause := box.Cause(); cause.Kind != machine.EndedApart || cause.Detail == "" {
		t.Errorf("it ended as %+v", cause)
	}
}

// A machine whose agent dies, or whose pipe breaks, goes on from where it was, once the place is
// there again.
func TestThePipeBreaks(t *testing.T) {
	for name, cut := range map[string]func(t *testing.T, p *Place, agent int){
		"the agent is killed": func(t *testing.T, _ *Place, agent int) {
			if err := syscall.Kill(agent, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		"the agent is asked to end": func(t *testing.T, _ *Place, agent int) {
			if err := syscall.Kill(agent, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		},
		"the pipe breaks": func(_ *testing.T, p *Place, _ int) { p.current.close() },
	} {
		t.Run(name, func(t *testing.T) {
			data, owner := t.TempDir(), newOwner(t)
			p := newPlace(t, data, owner)
			box := awake(t, p, "a")
			cut(t, p, agentOf(t, data, owner))
			isApart(t, box)
			goesOn(t, p, "a")
		})
	}
}

// A daemon that was killed comes again while its old agent, which has not noticed, still has its
// machine: the new agent takes its place, and nothing runs twice.
func TestADaemonComesAgain(t *testing.T) {
	data, owner := t.TempDir(), newOwner(t)
	p := newPlace(t, data, owner)
	box := awake(t, p, "a")
	old := agentOf(t, data, owner)
	again := newPlaceOn(t, data, owner)
	goesOn(t, again, "a")
	isApart(t, box)
	if now := agentOf(t, data, owner); now == old || now == 0 {
		t.Errorf("the agent is %d, and was %d", now, old)
	}
}

// Two daemons share a place, and do not get in each other's way.
func TestTwoDaemons(t *testing.T) {
	data := t.TempDir()
	one, other := newPlace(t, data, newOwner(t)), newPlaceOn(t, data, newOwner(t))
	mine, theirs := awake(t, one, "a"), awake(t, other, "b")
	for _, s := range []machine.Sandbox{mine, theirs} {
		if _, err := s.Stats(t.Context()); err != nil {
			t.Error(err)
		}
	}
	mine.Kill()
	<-mine.Ended()
	if err := one.Purge(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := theirs.Stats(t.Context()); err != nil {
		t.Errorf("the other one's machine: %v", err)
	}
	theirs.Kill()
	<-theirs.Ended()
}

// An agent of another version, and something that is no agent, are told as that.
func TestNoAgentOfOurs(t *testing.T) {
	for name, want := range map[string]string{"echo nonsense": "does not answer", "echo 'permission denied' >&2; exit 255": "no way in: permission denied"} {
		p := New(Config{Name: "test", Owner: newOwner(t), Dialer: &Command{
			Args: []string{"sh", "-c", name}, Log: testLog(t),
			Explain: func(said string) error { return errors.New("no way in: " + strings.TrimSpace(said)) },
		}})
		_, err := p.Used()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: it is told as %v", name, err)
		}
		if problems := p.Check(t.Context()); len(problems) != 1 {
			t.Errorf("%s: problems are %+v", name, problems)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := leftAgents(t); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

func leftAgents(t *testing.T) (left []string) {
	for _, p := range nativetest.All(t) {
		if p.Parent == os.Getpid() && isAgent(p) {
			left = append(left, fmt.Sprint(p.PID, p.Args))
		}
	}
	return left
}

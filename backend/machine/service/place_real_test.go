//go:build linux && real

package service_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// elsewhere adds a place to the service whose agent runs on this computer.
func (r *real) elsewhere() (name, data string) {
	r.t.Helper()
	data = r.t.TempDir()
	r.ok(hometest.Lend(data))
	place := remote.New(remote.Config{
		Name: "elsewhere", Owner: strings.Repeat("0123456789abcdef", 2),
		Dialer: &remote.Command{Args: []string{filepath.Join(filepath.Dir(r.program), "agent"), "-data", data}, Log: slog.New(slog.DiscardHandler)},
	})
	r.ok(r.AddPlace(place))
	r.places = append(r.places, place)
	return "elsewhere", data
}

// agent is the process that has the machines of a place; 0 for none.
func (r *real) agent(data string) int {
	for _, p := range nativetest.All(r.t) {
		if len(p.Args) > 2 && strings.HasSuffix(p.Args[0], "/agent") && p.Args[2] == data {
			return p.PID
		}
	}
	return 0
}

// A machine at a place goes on with what runs when its agent is killed or the connection breaks, as
// after the death of a daemon. What was said before is said once.
func TestRealPlaceIsLostAndFound(t *testing.T) {
	r := openReal(t, service.Settings{})
	name, data := r.elsewhere()
	m, err := r.Create(r.ctx, machine.CreateOptions{Name: "far", Engine: name})
	r.ok(err)
	r.value("far", "x = 41; x", "41")
	in := r.exec("far", "import os, time\nprint('begun')\nwhile not os.path.exists('/root/go'): time.sleep(0.01)\nx += 1\nprint('done')\nx")
	r.until("it to begin", func() bool {
		items, err := r.at("far").Items(r.ctx, in.Seq, 0, 10)
		return err == nil && len(items) > 0
	})
	agent := r.agent(data)
	r.ok(syscall.Kill(agent, syscall.SIGKILL))
	r.until("the machine to come back", func() bool {
		now := r.at("far").Machine()
		again := r.agent(data)
		return now.State == machine.Running && now.ID == m.ID && again != 0 && again != agent
	})
	_, err = r.at("far").PutFile(r.ctx, "/root/go", strings.NewReader(""))
	r.ok(err)
	done, err := r.at("far").Wait(r.ctx, in.Seq)
	r.ok(err)
	if done.Status != machine.StatusOK || done.Value == nil || *done.Value != "42" {
		t.Errorf("it ended as %+v", done)
	}
	items, err := r.at("far").Items(r.ctx, in.Seq, 0, 10)
	r.ok(err)
	var said strings.Builder
	for _, item := range items {
		said.Write(item.Text)
	}
	if said.String() != "begun\ndone\n" {
		t.Errorf("it said %q", said.String())
	}
}

// A machine moves to another place and back while code runs in it. Its variables, kept checkpoints,
// branches and history go along. Nothing of it stays behind.
func TestRealMachineMoves(t *testing.T) {
	r := openReal(t, service.Settings{})
	place, data := r.elsewhere()
	r.create("m")
	r.value("m", "x = 1; x", "1")
	kept, err := r.at("m").Checkpoint(r.ctx, "one")
	r.ok(err)
	r.value("m", "x = 2; x", "2")
	_, err = r.at("m").Rewind(r.ctx, kept.ID, "two")
	r.ok(err)
	r.value("m", "x", "1")
	in, _, err := r.at("m").Execute(r.ctx, machine.ExecuteOptions{Code: "import os, time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.05)\nx += 10\nx"})
	r.ok(err)
	id := r.at("m").Machine().ID
	for _, to := range []string{place, "native", place} {
		_, err := r.at("m").Move(r.ctx, to)
		r.ok(err)
		if m := r.at("m").Machine(); m.Engine != to || m.ID != id {
			t.Errorf("it is %s at %s", m.ID, m.Engine)
		}
		left := filepath.Join(data, "machines", string(id))
		if to == place {
			left = filepath.Join(r.place.Data, "machines", string(id))
		}
		r.until("nothing is left at the old place", func() bool {
			_, err := os.Stat(left)
			return errors.Is(err, os.ErrNotExist)
		})
	}
	_, err = r.at("m").PutFile(r.ctx, "/tmp/go", strings.NewReader("now"))
	r.ok(err)
	done, err := r.at("m").Wait(r.ctx, in.Seq)
	r.ok(err)
	if done.Status != machine.StatusOK || done.Value == nil || *done.Value != "11" {
		t.Errorf("what ran ended as %+v", done)
	}
	_, err = r.at("m").Rewind(r.ctx, "two", "")
	r.ok(err)
	r.value("m", "x", "2")
	checkpoints, err := r.at("m").Checkpoints(r.ctx)
	r.ok(err)
	labels := ""
	for _, c := range checkpoints {
		labels += c.Label
	}
	if labels != "one" {
		t.Errorf("kept: %q", labels)
	}
	if _, err := r.at("m").Move(r.ctx, "nowhere"); !errors.Is(err, machine.ErrInvalid) {
		t.Errorf("a place that there is not: %v", err)
	}
	if _, err := r.at("m").Move(r.ctx, place); !errors.Is(err, machine.ErrConflict) {
		t.Errorf("where it is already: %v", err)
	}
}

// A move that is cut off changes nothing: the machine is where it was. The next move finds nothing
// in its way.
func TestRealMoveIsCutOff(t *testing.T) {
	r := openReal(t, service.Settings{})
	place, data := r.elsewhere()
	r.create("m")
	r.value("m", "import os; x = os.urandom(200 << 20); len(x) >> 20", "200")
	id := r.at("m").Machine().ID
	moved := make(chan error, 1)
	go func() {
		_, err := r.at("m").Move(r.ctx, place)
		moved <- err
	}()
	r.until("something has arrived", func() bool {
		_, err := os.Stat(filepath.Join(data, "machines", string(id)))
		return err == nil
	})
	r.ok(syscall.Kill(r.agent(data), syscall.SIGKILL))
	if err := <-moved; !errors.Is(err, machine.ErrUnavailable) {
		t.Errorf("the move ended with %v", err)
	}
	if m := r.at("m").Machine(); m.Engine != "native" {
		t.Errorf("it is at %s", m.Engine)
	}
	r.value("m", "len(x) >> 20", "200")
	r.until("it has moved", func() bool {
		_, err := r.at("m").Move(r.ctx, place)
		if err != nil && !errors.Is(err, machine.ErrConflict) {
			t.Error(err)
		}
		return err == nil
	})
	r.value("m", "len(x) >> 20", "200")
}

// A machine is copied to another place and back, with its variables and history. A place with
// machines stays.
func TestRealMachineIsCopiedToAnotherPlace(t *testing.T) {
	r := openReal(t, service.Settings{})
	name, _ := r.elsewhere()
	r.create("here")
	r.value("here", "x = [1, 2]; x", "[1, 2]")
	_, err := r.at("here").Fork(r.ctx, "", machine.CreateOptions{Name: "there", Engine: name})
	r.ok(err)
	if m := r.at("there").Machine(); m.Engine != name {
		t.Errorf("the copy is at %s", m.Engine)
	}
	r.value("there", "x += [3]; x", "[1, 2, 3]")
	_, err = r.at("there").Fork(r.ctx, "", machine.CreateOptions{Name: "back", Engine: "native"})
	r.ok(err)
	r.value("back", "x", "[1, 2, 3]")
	r.value("here", "x", "[1, 2]")
	if err := r.RemovePlace(r.ctx, name); err == nil || !strings.Contains(err.Error(), "there") {
		t.Errorf("a place with machines is removed: %v", err)
	}
	r.ok(r.at("there").Delete(r.ctx))
	r.ok(r.at("there").Purge(r.ctx))
	r.ok(r.RemovePlace(r.ctx, name))
	if _, err := r.Create(r.ctx, machine.CreateOptions{Engine: name}); err == nil {
		t.Error("a machine is made at a place that is gone")
	}
}

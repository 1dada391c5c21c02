package service_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/exchange"
	"github.com/forevervm/desktop/backend/machine"
)

// MayShow refuses a machine for which it is told to.
func (s *script) MayShow(_ context.Context, id machine.ID, image, checkpoint string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.showErr
}

// chosen is a rule for folders: those called like /private are refused, and links are called by
// what they lead to.
func chosen(path string, writable bool) (string, error) {
	if strings.HasPrefix(path, "/private") || writable && strings.HasPrefix(path, "/tools") {
		return "", &machine.Error{Kind: machine.ErrInvalid, Message: path + " is not to be shared."}
	}
	return strings.TrimSuffix(path, "-link"), nil
}

// sees is what the engine was told to show to a machine when it was last started.
func (w *world) sees(m machine.Machine) *machine.SharedFolder {
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	return w.engine.specs[m.ID].Shared
}

func (w *world) share(name, path string, writable bool) machine.Machine {
	w.t.Helper()
	m, err := w.at(name).Share(w.ctx, &machine.SharedFolder{Path: path, Writable: writable})
	w.ok(err)
	if want := (machine.SharedFolder{Path: strings.TrimSuffix(path, "-link"), Writable: writable}); m.Shared == nil || *m.Shared != want {
		w.t.Fatalf("it shares %+v", m.Shared)
	}
	return m
}

func TestASharedFolderIsSeenFromTheNextStart(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.ok(w.at("m").Swap(w.ctx))
		m := w.share("m", "/docs-link", false)
		if m.State != machine.Swapped {
			t.Errorf("a machine that is not in memory is %s for it", m.State)
		}
		w.run("m", "print one")
		if f := w.sees(m); f == nil || f.Path != "/docs" || f.Writable {
			t.Errorf("it sees %+v", f)
		}
		// One in memory comes back with another, and goes on.
		if m = w.share("m", "/reports", true); m.State != machine.Idle {
			t.Errorf("it is %s", m.State)
		}
		if f := w.sees(m); f == nil || f.Path != "/reports" || !f.Writable {
			t.Errorf("it sees %+v", f)
		}
		w.effects("m", "0")
		running := w.begun("m", "wait")
		m, err := w.at("m").Share(w.ctx, nil)
		w.ok(err)
		if m.Shared != nil || w.sees(m) != nil || m.RunningSeq == nil || *m.RunningSeq != running.Seq {
			t.Errorf("it shares %+v and sees %+v, running %v", m.Shared, w.sees(m), m.RunningSeq)
		}
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", running.Seq); in.Status != machine.StatusOK {
			t.Errorf("what ran is %s: %s", in.Status, in.Error)
		}
	})
}

func TestASharedFolderIsTheMachinesAlone(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		early, err := w.at("m").Checkpoint(w.ctx, "early")
		w.ok(err)
		w.share("m", "/docs", true)
		w.run("m", "print two")
		fork, err := w.at("m").Fork(w.ctx, "", machine.CreateOptions{Name: "fork"})
		w.ok(err)
		w.run("fork", "list")
		if fork.Shared != nil || w.sees(fork) != nil {
			t.Errorf("a fork shares %+v and sees %+v", fork.Shared, w.sees(fork))
		}
		back, err := w.at("m").Rewind(w.ctx, early.ID, "")
		w.ok(err)
		w.run("m", "list")
		if back.Shared == nil || w.sees(m) == nil {
			t.Errorf("rewound it shares %+v and sees %+v", back.Shared, w.sees(m))
		}
		// It stays with it.
		want := w.get("m").Shared
		w.close()
		w.open()
		if got := w.get("m").Shared; !reflect.DeepEqual(got, want) {
			t.Errorf("after a restart it shares %+v", got)
		}
	})
}

func TestAFolderThatIsNotThereIsTold(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.share("m", "/stick", false)
		w.ok(w.at("m").Swap(w.ctx))
		w.engine.set(func() { w.engine.unshared = machine.UnsharedGone })
		in := w.run("m", "list")
		if in.Status != machine.StatusOK || strings.Count(in.Notice, "not there") != 1 {
			t.Errorf("%s, notice %q", in.Status, in.Notice)
		}
		if m := w.get("m"); !strings.Contains(m.Unshared, "not there") || m.Shared == nil {
			t.Errorf("%+v, %q", m.Shared, m.Unshared)
		}
		// Once is enough.
		w.ok(w.at("m").Swap(w.ctx))
		if in := w.run("m", "list"); in.Notice != "" {
			t.Errorf("notice %q", in.Notice)
		}
		w.engine.set(func() { w.engine.unshared = "" })
		w.ok(w.at("m").Swap(w.ctx))
		w.run("m", "list")
		if m := w.get("m"); m.Unshared != "" {
			t.Errorf("%q", m.Unshared)
		}
	})
}

func TestAFolderThatMayNotBeShared(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.share("m", "/docs", false)
		refused := func(kind error, path string, writable bool) {
			t.Helper()
			if _, err := w.at("m").Share(w.ctx, &machine.SharedFolder{Path: path, Writable: writable}); !errors.Is(err, kind) {
				t.Errorf("%s: %v", path, err)
			}
		}
		refused(machine.ErrInvalid, "/private", false)
		refused(machine.ErrInvalid, "/tools", true)
		w.engine.set(func() { w.engine.showErr = &machine.Error{Kind: machine.ErrConflict, Message: "It is far away."} })
		refused(machine.ErrConflict, "/other", false)
		// What code may change holds no folder of another machine.
		w.create("other")
		share := func(path string, writable bool) error {
			_, err := w.at("other").Share(w.ctx, &machine.SharedFolder{Path: path, Writable: writable})
			return err
		}
		w.engine.set(func() { w.engine.showErr = nil })
		for _, may := range []machine.SharedFolder{{Path: "/docs", Writable: true}, {Path: "/docs/report"}, {Path: "/docs/report", Writable: true}, {Path: "/docs-too", Writable: true}} {
			w.ok(share(may.Path, may.Writable))
		}
		if err := share("/", true); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("above another's: %v", err)
		}
		w.share("m", "/docs", true)
		if err := share("/docs/report", false); !errors.Is(err, machine.ErrConflict) || !strings.Contains(err.Error(), "m") {
			t.Errorf("in what another may change: %v", err)
		}
		w.share("m", "/docs", false)
		starts := w.engine.starts
		// What cannot be saved is left as it is.
		w.engine.set(func() { w.engine.showErr, w.engine.saveErr = nil, errors.New("the disk is full") })
		w.run("m", "print more")
		if _, err := w.at("m").Share(w.ctx, nil); err == nil {
			t.Error("it was not saved, but sees another folder")
		}
		if m := w.get("m"); m.Shared == nil || m.Shared.Path != "/docs" || w.engine.starts != starts || m.State != machine.Idle {
			t.Errorf("it shares %+v, was started %d times, and is %s", m.Shared, w.engine.starts-starts, m.State)
		}
		w.engine.set(func() { w.engine.saveErr = nil })
		w.pass(time.Minute)
		w.ok(w.at("m").Delete(w.ctx))
		refused(machine.ErrConflict, "/docs", false)
	})
}

// watched has the service watch shared folders, and returns one to share and where notes of it are.
func (w *world) watched() (folder, notes string) {
	w.t.Helper()
	folder, notes = filepath.Join(w.dir, "report"), filepath.Join(w.dir, "shares")
	w.ok(os.Mkdir(folder, 0o700))
	shares, err := exchange.NewShares(notes, slog.New(slog.DiscardHandler))
	w.ok(err)
	w.close()
	w.watch = shares
	w.open()
	return folder, notes
}

func (w *world) write(content string, name ...string) {
	w.t.Helper()
	at := filepath.Join(name...)
	w.ok(os.MkdirAll(filepath.Dir(at), 0o700))
	w.ok(os.WriteFile(at, []byte(content), 0o600))
}

func TestWhatComesUpInASharedFolderIsTold(t *testing.T) {
	inTime(t, func(w *world) {
		folder, notes := w.watched()
		w.write("", folder, ".vscode", "tasks.json")
		w.used("m")
		early, err := w.at("m").Checkpoint(w.ctx, "early")
		w.ok(err)
		w.share("m", folder, true)
		// An instruction leaves something: the header tells it soon, and the next result does,
		// once.
		w.write("[core]", folder, ".git", "config")
		w.run("m", "print one")
		w.pass(2 * time.Second)
		if m := w.get("m"); !strings.Contains(m.CameUp, `".git"`) || strings.Contains(m.CameUp, "tasks.json") {
			t.Errorf("the header tells %q", m.CameUp)
		}
		if in := w.run("m", "print two"); !strings.Contains(in.Notice, `".git"`) {
			t.Errorf("the next result tells %q", in.Notice)
		}
		w.pass(2 * time.Second)
		if in := w.run("m", "print three"); in.Notice != "" {
			t.Errorf("again: %q", in.Notice)
		}
		// So does what comes up between instructions, at the latest when the machine leaves memory.
		w.pass(time.Minute)
		w.write("", folder, ".envrc")
		w.ok(w.at("m").Swap(w.ctx))
		if m := w.get("m"); !strings.Contains(m.CameUp, `".envrc"`) {
			t.Errorf("the header tells %q", m.CameUp)
		}
		// What the person does while it sleeps is not told.
		w.write("changed", folder, ".vscode", "tasks.json")
		w.run("m", "print four")
		w.pass(2 * time.Second)
		if m := w.get("m"); strings.Contains(m.CameUp, "tasks.json") {
			t.Errorf("the header tells %q", m.CameUp)
		}
		// Going back does not take the warning away, nor does another daemon.
		_, err = w.at("m").Rewind(w.ctx, early.ID, "")
		w.ok(err)
		w.close()
		w.open()
		w.run("m", "print five")
		if m := w.get("m"); !strings.Contains(m.CameUp, `".envrc"`) {
			t.Errorf("the header tells %q", m.CameUp)
		}
		// Sharing it again does.
		w.share("m", folder, true)
		w.run("m", "print six")
		w.pass(2 * time.Second)
		if m := w.get("m"); m.CameUp != "" {
			t.Errorf("the header tells %q", m.CameUp)
		}
		w.ok(w.at("m").Purge(w.ctx))
		if left, err := os.ReadDir(notes); err != nil || len(left) > 0 {
			t.Errorf("%d notes are left, %v", len(left), err)
		}
	})
}

// What a machine does while its daemon is dead is told by the next one.
func TestWhatCameUpWithoutADaemonIsTold(t *testing.T) {
	inTime(t, func(w *world) {
		folder, _ := w.watched()
		w.used("m")
		w.share("m", folder, true)
		w.run("m", "print one")
		w.pass(2 * time.Second)
		w.die()
		w.write("", folder, ".envrc")
		w.open()
		w.run("m", "print two")
		if m := w.get("m"); !strings.Contains(m.CameUp, `".envrc"`) {
			t.Errorf("the header tells %q", m.CameUp)
		}
	})
}

func TestAFolderThatIsOnlyReadIsNotWatched(t *testing.T) {
	inTime(t, func(w *world) {
		folder, notes := w.watched()
		w.used("m")
		w.share("m", folder, false)
		w.run("m", "print one")
		w.write("", folder, ".envrc")
		w.run("m", "print two")
		w.pass(2 * time.Second)
		if m := w.get("m"); m.CameUp != "" {
			t.Errorf("the header tells %q", m.CameUp)
		}
		if left, err := os.ReadDir(notes); err != nil || len(left) > 0 {
			t.Errorf("%d notes are there, %v", len(left), err)
		}
	})
}

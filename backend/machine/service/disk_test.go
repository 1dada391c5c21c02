package service_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// On a disk without a byte left, deleting works: the room for it was held back. Here the disk is
// full for as long as the reserve is there.
func TestDeletingWorksOnAFullDisk(t *testing.T) {
	inTime(t, func(w *world) {
		w.close()
		reserve := filepath.Join(w.dir, "output", "reserve")
		var full atomic.Bool
		var free atomic.Int64
		free.Store(100 << 30)
		w.freeDisk = func() (int64, error) { return free.Load(), nil }
		w.wrap = func(s machine.Store) machine.Store {
			return brimming{s, func() bool {
				_, err := os.Stat(reserve)
				return full.Load() && err == nil
			}}
		}
		w.open()
		synctest.Wait()
		if info, err := os.Stat(reserve); err != nil || info.Size() < 16<<20 {
			t.Fatalf("nothing is held back: %v", err)
		}
		for _, name := range []string{"saved", "changed", "gone"} {
			w.create(name)
			w.run(name, "print 0")
		}
		w.pass(10 * time.Second)
		w.run("changed", "print 1")
		n := 0
		w.engine.set(func() { n = w.engine.n })
		full.Store(true)
		free.Store(0)

		err := w.at("changed").Delete(w.ctx)
		if !errors.Is(err, machine.ErrDiskFull) || !strings.Contains(err.Error(), "open Settings, Storage, Free up space") {
			t.Fatalf("a machine that would have to be saved: %v", err)
		}
		w.inState("changed", machine.Idle)
		w.ok(w.at("saved").Delete(w.ctx))
		w.inState("saved", machine.Deleted)
		w.ok(w.at("gone").Purge(w.ctx))
		w.ok(w.at("changed").Purge(w.ctx))
		w.engine.set(func() {
			if w.engine.n != n || len(w.engine.purged) != 2 {
				t.Errorf("saved %d times, purged %v", w.engine.n-n, w.engine.purged)
			}
		})
		full.Store(false)
		free.Store(100 << 30)
		w.pass(2 * time.Minute)
		if _, err := os.Stat(reserve); err != nil {
			t.Errorf("with room again, nothing is held back: %v", err)
		}
		w.ok(w.at("saved").Restore(w.ctx))
		w.effects("saved", "0")
	})
}

// A machine that prints can be removed while there is no room for what it prints, and none but what
// its own files take.
func TestPurgeOfAPrintingMachineOnAFullDisk(t *testing.T) {
	inTime(t, func(w *world) {
		w.close()
		var full atomic.Bool
		w.wrap = func(s machine.Store) machine.Store {
			return brimming{s, func() bool {
				w.engine.mu.Lock()
				defer w.engine.mu.Unlock()
				return full.Load() && len(w.engine.purged) == 0
			}}
		}
		w.open()
		w.create("m")
		w.exec("m", "slow 100000")
		w.pass(time.Second)
		full.Store(true)
		w.pass(5 * time.Second)
		purged := make(chan error, 1)
		go func() { purged <- w.at("m").Purge(w.ctx) }()
		w.pass(time.Minute)
		select {
		case err := <-purged:
			w.ok(err)
		default:
			full.Store(false)
			t.Fatal("it waits for the disk that it is to free")
		}
	})
}

// withDisk opens the service on a disk with so many free bytes, which the test may change.
func (w *world) withDisk(bytes int64) *atomic.Int64 {
	w.close()
	free := new(atomic.Int64)
	free.Store(bytes)
	w.freeDisk = func() (int64, error) { return free.Load(), nil }
	w.open()
	return free
}

// Below the floor what exists goes on, and nothing new is made.
func TestNothingNewOnADiskThatIsNearlyFull(t *testing.T) {
	inTime(t, func(w *world) {
		free := w.withDisk(100 << 30)
		w.used("m")
		free.Store(500 << 20)
		_, forked := w.at("m").Fork(w.ctx, "", machine.CreateOptions{})
		_, created := w.Create(w.ctx, machine.CreateOptions{})
		_, kept := w.at("m").Checkpoint(w.ctx, "")
		for what, err := range map[string]error{"fork": forked, "new machine": created, "checkpoint": kept} {
			if !errors.Is(err, machine.ErrDiskFull) || !strings.Contains(err.Error(), "Only 500 MB are free") {
				t.Errorf("%s: %v", what, err)
			}
		}
		w.effects("m", "0")
		w.ok(w.at("m").Swap(w.ctx)) // saved all the same
		w.effects("m", "0 1")
		free.Store(10 << 20)
		w.engine.set(func() { w.engine.n = 1000 })
		w.run("m", "print 3")
		if err := w.at("m").Swap(w.ctx); err != nil { // its last checkpoint took little
			t.Errorf("a save for which there is room: %v", err)
		}
		free.Store(100)
		w.run("m", "print 4")
		if err := w.at("m").Swap(w.ctx); !errors.Is(err, machine.ErrDiskFull) {
			t.Errorf("a save for which there is none: %v", err)
		}
		w.inState("m", machine.Idle)
		free.Store(100 << 30)
	})
}

// Who runs code is told that nothing is saved, and not only who looks at the status.
func TestAResultSaysThatNothingIsSaved(t *testing.T) {
	inTime(t, func(w *world) {
		free := w.withDisk(100 << 30)
		w.used("m")
		if in := w.run("m", "print 1"); in.Notice != "" {
			t.Errorf("with room: %q", in.Notice)
		}
		free.Store(100 << 20)
		w.pass(2 * time.Minute)
		if in := w.run("m", "print 2"); !strings.HasPrefix(in.Notice, "The disk is nearly full, so this machine is not saved") {
			t.Errorf("without room: %q", in.Notice)
		}
		free.Store(100 << 30)
		w.pass(2 * time.Minute)
		if in := w.run("m", "print 3"); in.Notice != "" {
			t.Errorf("with room again: %q", in.Notice)
		}
	})
}

// What a save takes is told by the last one as it was written, not by what is left of it when it is
// shrunk.
func TestASaveThatWouldFillTheDiskIsRefused(t *testing.T) {
	inTimeWith(t, service.Settings{IdleSwap: time.Hour}, func(w *world) {
		free := w.withDisk(100 << 30)
		w.engine.set(func() { w.engine.size = 200 << 20 })
		w.used("m")
		c, err := w.at("m").Checkpoint(w.ctx, "")
		w.ok(err)
		w.pass(time.Minute)
		if all := w.engine.allShrunk(); !slices.Contains(all, c.ID) {
			t.Fatalf("shrunk are %q", all)
		}
		free.Store(150 << 20)
		w.run("m", "print 1")
		if err := w.at("m").Swap(w.ctx); !errors.Is(err, machine.ErrDiskFull) || !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("200 MB on 150: %v", err)
		}
		free.Store(250 << 20)
		w.ok(w.at("m").Swap(w.ctx))
		w.effects("m", "0 1")
		free.Store(100 << 30)
	})
}

func TestCheckpointsAreNotKeptWithoutEnd(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		for range 50 {
			_, err := w.at("m").Checkpoint(w.ctx, "")
			w.ok(err)
		}
		if _, err := w.at("m").Checkpoint(w.ctx, ""); !errors.Is(err, machine.ErrConflict) || !strings.Contains(err.Error(), "50 checkpoints") {
			t.Fatalf("the 51st: %v", err)
		}
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		w.ok(w.at("m").DeleteCheckpoint(w.ctx, all[3].ID))
		_, err = w.at("m").Checkpoint(w.ctx, "")
		w.ok(err)
	})
}

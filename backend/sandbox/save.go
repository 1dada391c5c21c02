//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	// checkpointsName is the folder of finished checkpoints in the machine's. Forks share files
	// with those that they were made from, so nothing in the private root leads there: they are
	// written in the scratch folder and moved when they are whole.
	checkpointsName = "checkpoints"
	// settlePatience is how long a save waits for the runner to read what it was sent.
	settlePatience = 50 * time.Millisecond
	// scarce is how little room on the disk, in bytes, is too little for any checkpoint.
	scarce = 32 << 20
)

var errNotSaved = &told{protocol.KindConflict, "The machine has ended; it cannot be saved."}

// save makes a checkpoint, durable when it returns, or with unsynced when somebody has kept it. The
// sandbox goes on.
func (s *supervisor) save(ctx context.Context, unsynced bool) (checkpoint.Manifest, error) {
	select {
	case s.saving <- struct{}{}:
		defer func() { <-s.saving }()
	case <-ctx.Done():
		return checkpoint.Manifest{}, ctx.Err()
	case <-s.sandboxEnded:
		return checkpoint.Manifest{}, errNotSaved
	}
	m, err := s.saveOnce(ctx, unsynced)
	if err != nil {
		return m, describeSave(err)
	}
	s.mu.Lock()
	s.lastCheckpoint = m.ID
	s.mu.Unlock()
	return m, nil
}

func (s *supervisor) saveOnce(ctx context.Context, unsynced bool) (m checkpoint.Manifest, err error) {
	s.mu.Lock()
	last := s.lastCheckpoint
	s.mu.Unlock()
	folder := checkpoint.Folder(filepath.Join(s.place.folder, checkpointsName))
	id, err := folder.NewID(last, s.after)
	if err != nil {
		return m, err
	}
	pending, err := folder.BeginIn(id, filepath.Join(s.place.folder, filepath.Base(scratchPath)))
	if err != nil {
		return m, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, pending.Abort())
		}
	}()
	pending.UseSpare()
	defer s.forgetSpare()
	m, err = s.freeze(ctx, filepath.Join(scratchPath, filepath.Base(pending.Dir)))
	if err == nil {
		err = s.alive()
	}
	if err != nil {
		return m, err
	}
	if unsynced {
		return pending.CommitUnsynced(m)
	}
	return pending.Commit(m)
}

// forgetSpare removes what is left for the next checkpoint, unless that comes soon.
func (s *supervisor) forgetSpare() {
	if s.spare == nil {
		s.spare = time.AfterFunc(checkpoint.SpareAge, func() { checkpoint.RemoveSpare(filepath.Join(s.place.folder, filepath.Base(scratchPath))) })
	}
	s.spare.Reset(checkpoint.SpareAge)
}

// discard removes a checkpoint that the daemon has carried away: it has no other way to files of a
// container.
func (s *supervisor) discard(id string) protocol.Reply {
	if !checkpoint.ValidID(id) {
		return failure(&told{protocol.KindInvalid, "This is no checkpoint's id."})
	}
	if err := checkpoint.Folder(filepath.Join(s.place.folder, checkpointsName)).Delete(id); err != nil {
		return failure(err)
	}
	return protocol.Reply{OK: true}
}

// alive fails when Python has ended: what was saved meanwhile may have it dead, and would end as
// soon as it woke.
func (s *supervisor) alive() error {
	select {
	case <-s.sandboxEnded:
		return errNotSaved
	default:
	}
	if s.runner.lastWords() != "" {
		return errNotSaved
	}
	return nil
}

// freeze has runsc write the sandbox into dir. Requests wait meanwhile; one that is partly in the
// pipe is completed from dir after a restore.
func (s *supervisor) freeze(ctx context.Context, dir string) (m checkpoint.Manifest, err error) {
	release, open := s.runner.in.hold(), s.way.to.hold()
	settled := s.runner.in.settle(settlePatience)
	defer func() {
		open()
		release()
		if !settled {
			// gVisor has taken what was in the pipe into a buffer of its own, and wakes its reader
			// only when more comes.
			_ = s.runner.tell(ctx, protocol.Request{Type: typeNudge}, nil)
		}
	}()
	m = checkpoint.Manifest{
		CreatedAt: time.Now().UTC(), Life: s.life, Baseline: s.baseline,
		Image: s.cfg.ImageDigest, Runtime: s.cfg.RuntimeDigest, Spec: SpecDigest(), Features: s.runsc.features,
	}
	m.LastSeq, m.RunningSeq = s.runner.state()
	room := roomIn(dir)
	if room < scarce {
		return m, unix.ENOSPC
	}
	start := time.Now()
	if err := s.runsc.checkpoint(ctx, dir); err != nil {
		if noRoom(room, roomIn(dir), s.measure().python) {
			err = errors.Join(unix.ENOSPC, err)
		}
		return m, err
	}
	m.Pause = time.Since(start)
	if rest := s.runner.in.unsent(); len(rest) > 0 {
		err = writeNew(filepath.Join(dir, checkpoint.InputName), rest)
	}
	return m, err
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// noRoom says whether a save that failed did so for want of room, which runsc does not always say:
// before it, and when it had failed, so many bytes were free, and it had to write up to need.
func noRoom(before, after, need int64) bool { return after < scarce || before < need }

// roomIn is how many bytes are free on the disk of dir; where that cannot be told, as many as
// anybody needs.
func roomIn(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return math.MaxInt64
	}
	return int64(st.Bavail) * st.Bsize
}

// describeSave makes a sentence of why a save failed.
func describeSave(err error) error {
	var failed *runscError
	var already *told
	if errors.As(err, &already) {
		return already
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.As(err, &failed) && failed.diskFull() {
		return &told{protocol.KindDiskFull, "The disk is full, so the machine could not be saved. It goes on running; free some room and save it again."}
	}
	return &told{protocol.KindUnavailable, fmt.Sprintf("The machine could not be saved: %v.", err)}
}

// stop saves the sandbox and keeps what it says from then on from the daemon: it is to be ended,
// and will say it again when it wakes. When saving fails, it goes on as if nothing had been.
func (s *supervisor) stop(ctx context.Context) (checkpoint.Manifest, error) {
	releaseFrames, releaseAnswers := s.box.hold(), s.runner.hold()
	m, err := s.save(ctx, false)
	if err != nil {
		releaseFrames()
		releaseAnswers()
	}
	return m, err
}

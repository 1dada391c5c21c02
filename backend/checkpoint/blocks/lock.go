package blocks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockName = "lock"
	// turnName is a lock that anyone who wants the other one passes through. Who wants that one for
	// himself keeps it meanwhile, so that those who come after him wait, and the others get done.
	turnName = "turn"
	// lockPoll is how often a lock that another holds is tried.
	lockPoll = 2 * time.Millisecond
	// shortTurn is for how long others are kept waiting, at first, by one who wants the lock for
	// himself, and longTurn at most, where it takes many turns. In between they go on for
	// restBetween times as long.
	shortTurn   = 20 * time.Millisecond
	longTurn    = time.Second
	restBetween = 5
)

func (s *Store) flock(name string) *flock.Flock {
	return flock.New(filepath.Join(s.dir, name), flock.SetPermissions(0o600))
}

// share takes the lock together with others. What is there then stays there until release.
func (s *Store) share(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	turn := s.flock(turnName)
	defer turn.Close()
	if _, err := turn.TryRLockContext(ctx, lockPoll); err != nil {
		return nil, waited(err)
	}
	lock := s.flock(lockName)
	if _, err := lock.TryRLockContext(ctx, lockPoll); err != nil {
		lock.Close()
		return nil, waited(err)
	}
	return s.use(lock), nil
}

// own takes the lock for itself. Others are not kept waiting for long, so it may take many turns.
func (s *Store) own(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	lock := s.flock(lockName)
	for patience := shortTurn; ; patience = min(2*patience, longTurn) {
		ok, err := s.tryOwn(ctx, lock, patience)
		if ok {
			return s.use(lock), nil
		}
		if err == nil {
			select {
			case <-time.After(restBetween * patience):
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			lock.Close()
			return nil, waited(err)
		}
	}
}

// tryOwn is one turn.
func (s *Store) tryOwn(ctx context.Context, lock *flock.Flock, patience time.Duration) (bool, error) {
	turn := s.flock(turnName)
	defer turn.Close()
	if _, err := turn.TryLockContext(ctx, lockPoll); err != nil {
		return false, err
	}
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ok, err := lock.TryLockContext(short, lockPoll)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	return ok, err
}

func waited(err error) error { return fmt.Errorf("wait for the store of blocks: %w", err) }

// use keeps the index in memory until release, and a while longer.
func (s *Store) use(lock *flock.Flock) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used++
	if s.forget != nil {
		s.forget.Stop()
	}
	return func() {
		lock.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.used--; s.used == 0 {
			s.forget = time.AfterFunc(keepIndex, s.drop)
		}
	}
}

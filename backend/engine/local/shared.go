package local

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/forevervm/desktop/backend/machine"
)

// shows is what a runsc says (build/runsc/lost) whose machines come back whatever has become of a file that they had open. Those of other builds
// would not, so they are shown no folder.
const shows = "forevervm: files that were open are lost"

// showing tells which runsc is one of those, by digest: to look takes a tenth of a second.
type showing struct {
	mu    sync.Mutex
	known map[string]bool
}

func (s *showing) by(p Parts) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shows, ok := s.known[p.RuntimeDigest]; ok {
		return shows
	}
	b, err := os.ReadFile(p.Runsc)
	if err != nil {
		return false
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[p.RuntimeDigest] = bytes.Contains(b, []byte(shows))
	return s.known[p.RuntimeDigest]
}

// CanShow says whether machines of these parts can be shown a folder.
func (s *Store) CanShow(p Parts) bool { return s.showing.by(p) }

// MayShow says why a machine cannot be shown a folder: its state is of an earlier version, which it keeps.
func (s *Store) MayShow(ctx context.Context, id machine.ID, image, checkpoint string) error {
	p, err := s.PartsFor(ctx, image, id, checkpoint)
	if err != nil {
		return err
	}
	if !s.CanShow(p) {
		return &machine.Error{Kind: machine.ErrConflict, Message: "This machine was made with an earlier version of ForeverVM, which cannot share folders, and goes on with that. " +
			"Make a new machine, and share the folder with it."}
	}
	return nil
}

// IsFolder says whether a folder is there, and no link leads to it.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	return err == nil && real == path
}

package local

import (
	"context"
	"os"
	"path/filepath"

	"github.com/forevervm/desktop/backend/machine"
)

// MayShow says why a machine cannot be shown a folder: its state is of an earlier version, which it
// keeps.
func (s *Store) MayShow(ctx context.Context, id machine.ID, image, checkpoint string) error {
	p, err := s.PartsFor(ctx, image, id, checkpoint)
	if err != nil {
		return err
	}
	if !p.CanShow() {
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

package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// The files of a checkpoint go only where all of them can be made of its blocks again.
func TestConfirm(t *testing.T) {
	root := t.TempDir()
	f := Folder(filepath.Join(root, "checkpoints"))
	store := blocks.Open(filepath.Join(root, "blocks"), f.Recipes)
	m := put(t, f, Manifest{}, "content")
	if _, err := f.Keep(t.Context(), m.ID, "", store); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Confirm(t.Context(), m.ID, store); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(f.Path(m.ID), InputName)
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Confirm(t.Context(), m.ID, store); err == nil {
		t.Error("confirmed, though a file more is there")
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	packs, _ := filepath.Glob(filepath.Join(root, "blocks", "*.pack"))
	b, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	b[8+41+2] ^= 1 // of the first block
	if err := os.WriteFile(packs[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	again := blocks.Open(filepath.Join(root, "blocks"), f.Recipes)
	if err := f.Confirm(t.Context(), m.ID, again); !errors.Is(err, blocks.ErrDamaged) {
		t.Errorf("what is damaged is confirmed: %v", err)
	}
}

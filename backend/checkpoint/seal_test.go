package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// A bit of a whole checkpoint that flips on the disk is found, once it was sealed.
func TestSeal(t *testing.T) {
	boot := thisBoot
	t.Cleanup(func() { thisBoot = boot })
	thisBoot = func() string { return "this one" }
	f := Folder(t.TempDir())
	m := put(t, f, Manifest{LastSeq: 4}, "content")
	if err := f.Compare(t.Context(), m.ID); err != nil {
		t.Errorf("one that nobody has sealed: %v", err)
	}
	for range 2 {
		if err := f.Seal(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
		if err := f.Compare(t.Context(), m.ID); err != nil {
			t.Error(err)
		}
	}
	sealed, err := f.Load(m.ID)
	if err != nil || sealed.LastSeq != 4 || sealed.Size != m.Size || sealed.Digest == "" || sealed.Aged() {
		t.Errorf("%+v, %v", sealed, err)
	}
	if got := names(t, f); len(got) != 1 {
		t.Errorf("there are %q", got)
	}
	thisBoot = func() string { return "the next one" }
	if !sealed.Aged() {
		t.Error("it passes for new when the computer has been started again")
	}
	to := Folder(filepath.Join(t.TempDir(), "checkpoints"))
	copied, err := f.Copy(t.Context(), m.ID, to, nil)
	if err != nil || copied.Digest != sealed.Digest || to.Compare(t.Context(), copied.ID) != nil {
		t.Errorf("copied is %+v, %v", copied, err)
	}
	for what, change := range map[string]func(path string) error{
		"a bit":   func(path string) error { return os.WriteFile(path, []byte("bontent"), 0o600) },
		"its end": func(path string) error { return os.Truncate(path, 3) },
		"all":     os.Remove,
	} {
		if err := change(filepath.Join(f.Path(m.ID), "pages.img")); err != nil {
			t.Fatal(err)
		}
		if err := f.Compare(t.Context(), m.ID); !errors.Is(err, ErrUnusable) {
			t.Errorf("%s has changed: %v", what, err)
		}
	}
}

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

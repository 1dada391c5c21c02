package home_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/forevervm/desktop/backend/home"
)

// A crash at any moment leaves one whole copy that counts. What the other one has goes at the next
// start.
func TestMovedDataAfterCrashes(t *testing.T) {
	root, disk := t.TempDir(), filepath.Join(t.TempDir(), "ForeverVM")
	dirs := resolved(t, root)
	write(t, filepath.Join(dirs.Data, "forevervm.db"))
	write(t, dirs.LockFile())
	usual := dirs.Data

	// While it is copied.
	must(t, dirs.Begin(disk))
	write(t, filepath.Join(disk, "half"))
	dirs = resolved(t, root)
	if dirs.Data != usual {
		t.Fatalf("half a copy counts: %s", dirs.Data)
	}
	must(t, dirs.RemoveLeft())
	if there(disk) || !there(filepath.Join(usual, "forevervm.db")) {
		t.Error("half a copy is left, or the data is gone")
	}

	// After it counts, and before the old one is removed.
	write(t, filepath.Join(disk, "forevervm.db"))
	if _, err := dirs.MoveTo(disk); err != nil {
		t.Fatal(err)
	}
	dirs = resolved(t, root)
	if dirs.Data != disk || dirs.Usual != usual || !dirs.Moved() {
		t.Fatalf("%+v", dirs)
	}
	if dirs.LockFile() != filepath.Join(usual, "daemon.lock") {
		t.Errorf("the lock moved to %s", dirs.LockFile())
	}
	must(t, dirs.RemoveLeft())
	if there(filepath.Join(usual, "forevervm.db")) || !there(dirs.LockFile()) || !there(filepath.Join(disk, "forevervm.db")) {
		t.Error("the old copy is left, or too much is gone")
	}
	must(t, dirs.RemoveLeft())

	// While the disk is away, nothing is made, and nothing removed.
	must(t, os.Rename(disk, disk+".away"))
	must(t, dirs.Begin(usual))
	write(t, filepath.Join(usual, "rescued"))
	if err := dirs.Make(); !errors.Is(err, home.ErrAway) {
		t.Errorf("%v", err)
	}
	if err := dirs.RemoveLeft(); !errors.Is(err, home.ErrAway) || there(disk) || !there(filepath.Join(usual, "rescued")) {
		t.Errorf("%v", err)
	}
	must(t, os.Mkdir(disk, 0o700)) // another disk, at the same path
	if err := dirs.Make(); !errors.Is(err, home.ErrAway) {
		t.Errorf("another folder is taken for it: %v", err)
	}
	must(t, os.Remove(disk))
	must(t, os.Rename(disk+".away", disk))
	must(t, dirs.Make())

	// Back.
	must(t, dirs.RemoveLeft())
	write(t, filepath.Join(usual, "forevervm.db"))
	dirs, err := dirs.MoveTo(usual)
	must(t, err)
	must(t, dirs.RemoveLeft())
	if dirs = resolved(t, root); dirs.Moved() || there(disk) || !there(filepath.Join(usual, "forevervm.db")) {
		t.Errorf("%+v", dirs)
	}
}

func resolved(t *testing.T, root string) home.Dirs {
	t.Helper()
	dirs, err := home.Resolve(root)
	must(t, err)
	must(t, dirs.Make())
	return dirs
}

func write(t *testing.T, path string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte("data"), 0o600))
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

//go:build unix

package relocate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/relocate"
)

func TestACopyHasAllThatTheFolderHas(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2024, 3, 1, 12, 0, 0, 123456789, time.UTC)
	must(os.MkdirAll(filepath.Join(from, "machines", "a"), 0o700))
	memory := filepath.Join(from, "machines", "a", "memory")
	must(os.WriteFile(memory, []byte("begin"), 0o400))
	must(os.Chmod(memory, 0o600))
	must(os.Truncate(memory, 64<<20))
	must(os.Chmod(memory, 0o400))
	must(os.Link(memory, filepath.Join(from, "machines", "copy")))
	must(os.Symlink("machines/a", filepath.Join(from, "here")))
	must(os.WriteFile(filepath.Join(from, "empty"), nil, 0o644))
	must(os.Mkdir(filepath.Join(from, "run"), 0o700))
	must(os.WriteFile(filepath.Join(from, "run", "daemon.json"), []byte("{}"), 0o600))
	must(syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600))
	must(os.Chtimes(memory, at, at))
	must(os.Chtimes(filepath.Join(from, "machines", "a"), at, at))

	total, err := relocate.Size(from, "run")
	must(err)
	var done int64
	must(relocate.Copy(t.Context(), from, to, func(d int64) { done = d }, "run"))
	if done != total || total != 2*(64<<20) {
		t.Errorf("%d of %d bytes were told of", done, total)
	}

	copied := filepath.Join(to, "machines", "a", "memory")
	info, err := os.Stat(copied)
	must(err)
	other, err := os.Stat(filepath.Join(to, "machines", "copy"))
	must(err)
	if !os.SameFile(info, other) {
		t.Error("a file with two names became two files")
	}
	if info.Size() != 64<<20 || info.Mode().Perm() != 0o400 || !info.ModTime().Equal(at) {
		t.Errorf("the memory: %d bytes, %v, %v", info.Size(), info.Mode(), info.ModTime())
	}
	if stat := info.Sys().(*syscall.Stat_t); stat.Blocks*512 > 4<<20 { //nolint:forcetypeassert // on Unix
		t.Errorf("holes were filled: %d bytes", stat.Blocks*512)
	}
	if folder, err := os.Stat(filepath.Dir(copied)); err != nil || !folder.ModTime().Equal(at) {
		t.Errorf("the folder's time: %v, %v", folder.ModTime(), err)
	}
	if leads, err := os.Readlink(filepath.Join(to, "here")); err != nil || leads != "machines/a" {
		t.Errorf("the symlink: %q, %v", leads, err)
	}
	for _, left := range []string{"run", "pipe"} {
		if _, err := os.Lstat(filepath.Join(to, left)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was copied: %v", left, err)
		}
	}
}

func TestACopyEndsWhenItIsNoLongerWanted(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "file"), make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := relocate.Copy(ctx, from, to, func(int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestThisDiskIsAble(t *testing.T) {
	folder := t.TempDir()
	if err := relocate.Able(folder); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

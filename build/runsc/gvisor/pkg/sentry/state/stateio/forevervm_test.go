package stateio

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/hostarch"
	"gvisor.dev/gvisor/pkg/sentry/memmap"
)

func newWriter(t *testing.T, path string) *FDWriter {
	t.Helper()
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return NewPagesFileFDWriterDefault(int32(fd))
}

// The patch "loading threads".
func TestPagesAreLoadedByOneThread(t *testing.T) {
	w := newWriter(t, filepath.Join(t.TempDir(), "pages"))
	defer w.Close()
	if n := w.MaxParallel(); n != 1 {
		t.Errorf("%d threads", n)
	}
}

// The patch "overwriting": an older checkpoint's file is longer than what is written over it.
func TestFinalizeCutsOffWhatIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages")
	if err := os.WriteFile(path, bytes.Repeat([]byte("o"), 3*hostarch.PageSize), 0o600); err != nil {
		t.Fatal(err)
	}
	page := bytes.Repeat([]byte("n"), hostarch.PageSize)
	w := newWriter(t, path)
	defer w.Close()
	w.AddWrite(0, nil, memmap.FileRange{End: hostarch.PageSize}, page)
	if done, err := w.Wait(nil, 1); err != nil || len(done) != 1 || done[0].Err != nil {
		t.Fatal(done, err)
	}
	if err := w.Finalize(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, page) {
		t.Errorf("%d bytes are left, %v", len(got), err)
	}
}

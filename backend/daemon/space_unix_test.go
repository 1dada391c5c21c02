//go:build unix

package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

// Copies of a machine share its files. A person who reads that they take nine times as much deletes
// work for no reason.
func TestSharedFilesAndHolesAreNotCounted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "machine", "memory")
	if err := os.MkdirAll(filepath.Join(dir, "copies"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, copied := range []string{"1", "2", "3"} {
		if err := os.Link(file, filepath.Join(dir, "copies", copied)); err != nil {
			t.Fatal(err)
		}
	}
	holes := filepath.Join(dir, "holes")
	if err := os.WriteFile(holes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(holes, 1<<30); err != nil {
		t.Fatal(err)
	}
	used, err := usedDisk(dir)
	if err != nil || used.all < 1<<20 || used.all > 2<<20 {
		t.Errorf("1 MiB with three more names takes %d bytes, %v", used.all, err)
	}
}

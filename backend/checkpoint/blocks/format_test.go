package blocks

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write testdata for a version that has none yet")

// A store of every version that was released can be read forever. testdata holds, for each, its
// packs and a recipe whose base it needs.
func TestEveryVersionIsReadable(t *testing.T) {
	t.Run("1", func(t *testing.T) {
		readable(t, "testdata/v1", map[string][]byte{"pages.img": pages(1, 2, 0, 0, 4, 1, 6), "checkpoint.img": []byte("the state"), "input.bin": nil})
	})
	t.Run("2", func(t *testing.T) { // with patches
		readable(t, "testdata/v2", map[string][]byte{"pages.img": pages(1, 2+alike, 0, 3*alike, 4, 1, 6), "checkpoint.img": []byte("the state"), "input.bin": nil})
	})
	t.Run("3", func(t *testing.T) { // with frames
		state := append([]byte("All behind this has moved."), pages(3, 5, 7)...)
		readable(t, "testdata/v3", map[string][]byte{"pages.img": pages(1, 2+alike, 0, 3*alike, 4, 1, 6), "checkpoint.img": state, "input.bin": nil})
	})
}

func readable(t *testing.T, version string, want map[string][]byte) {
	t.Helper()
	if _, err := os.Stat(version); *update && errors.Is(err, fs.ErrNotExist) {
		writeVersion(t, version, want)
	}
	w := newWorld(t, t.TempDir())
	if err := os.CopyFS(w.root, os.DirFS(version)); err != nil {
		t.Fatal(err)
	}
	w.content["r2"] = want
	if err := w.restored(w.s, "r2"); err != nil {
		t.Fatal(err)
	}
	r, err := ReadRecipe(w.path("r2"))
	var meta struct{ A int }
	if err != nil || json.Unmarshal(r.Meta, &meta) != nil || meta.A != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if report, err := w.s.Check(t.Context(), true); err != nil || report.Recipes != 2 || len(report.Damage)+len(report.Lost) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func writeVersion(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if _, err := os.Stat(dir); err == nil {
		t.Fatalf("%s is there, and never changes", dir)
	}
	w := newWorld(t, t.TempDir())
	w.s.small = 5 * Unit
	numbers := make([]int, 0, 24)
	for i := range 24 {
		numbers = append(numbers, i)
	}
	first, err := w.put(w.s, map[string][]byte{"pages.img": append(pages(1, 2, 0, 0, 4, 1), pages(numbers...)...), "checkpoint.img": pages(3, 5, 7, 8)}, "")
	if err == nil {
		_, err = w.put(w.s, files, first)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"blocks", "recipes"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(w.root, part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, lock := range []string{lockName, turnName} {
		_ = os.Remove(filepath.Join(dir, "blocks", lock))
	}
}

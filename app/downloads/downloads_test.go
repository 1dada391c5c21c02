package downloads

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func save(t *testing.T, d *Downloads, name string, parts ...string) (path string) {
	t.Helper()
	id, err := d.Begin(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if err := d.Append(id, []byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if path, err = d.Finish(id); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is saved is there as a whole, under its name or the next that is free; nothing is
// overwritten, and nothing else stays behind.
func TestSaving(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "Downloads")
	d := Into(folder)
	for name, want := range map[string]string{
		"plot.png": "plot.png", "../../.bashrc": "_.._.bashrc", "a:b?.csv": "a_b_.csv", "…": "…", "nul.txt": "_nul.txt", strings.Repeat("é", 200) + ".csv": strings.Repeat("é", 73) + ".csv",
	} {
		if got := save(t, d, name, "a", "b"); got != filepath.Join(folder, want) {
			t.Errorf("%q is saved as %s", name, got)
		}
	}
	second, third := save(t, d, "plot.png", "2"), save(t, d, "plot.png", "3")
	if filepath.Base(second) != "plot (2).png" || filepath.Base(third) != "plot (3).png" {
		t.Errorf("others of that name are %s and %s", second, third)
	}
	for path, want := range map[string]string{filepath.Join(folder, "plot.png"): "ab", second: "2", third: "3"} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v", path, b, err)
		}
	}
	for _, name := range []string{"", " . "} {
		if _, err := d.Begin(name); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
	for range 2 {
		if _, err := d.Begin("left.txt"); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Cancel(d.last); err != nil {
		t.Error(err)
	}
	if err := d.Append(d.last, nil); err == nil {
		t.Error("what was cancelled takes more")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 8 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

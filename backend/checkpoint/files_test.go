package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
)

func TestFill(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "checkpoints"))
	id, err := f.NewID()
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Begin(id)
	if err != nil {
		t.Fatal(err)
	}
	pages := make([]byte, 3<<20+7)
	copy(pages[1<<20+4090:], "over the edge of a page")
	pages[len(pages)-1] = 1
	for _, wrong := range []struct {
		file    File
		content string
	}{
		{File{"../pages.img", 1}, "x"}, {File{"manifest.json", 2}, "{}"}, {File{"", 0}, ""}, {File{"pages.img", -1}, ""},
		{File{"pages_meta.img", 3}, "ab"}, {File{"checkpoint.img", 3}, "abcd"},
	} {
		if err := p.Fill(t.Context(), wrong.file, bytes.NewReader([]byte(wrong.content))); !errors.Is(err, ErrUnusable) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if err := p.Abort(); err != nil {
		t.Fatal(err)
	}
	if p, err = f.Begin(id); err != nil {
		t.Fatal(err)
	}
	contents := map[string][]byte{"checkpoint.img": []byte("kernel"), "pages.img": pages, "pages_meta.img": nil}
	for name, content := range contents {
		if err := p.Fill(t.Context(), File{name, int64(len(content))}, iotest.HalfReader(bytes.NewReader(content))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Commit(Manifest{}); err != nil {
		t.Fatal(err)
	}
	found, err := Files(f.Path(id))
	if err != nil || len(found) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, file := range found {
		got, err := os.ReadFile(filepath.Join(f.Path(id), file.Name))
		if err != nil || !bytes.Equal(got, contents[file.Name]) || file.Size != int64(len(got)) {
			t.Errorf("%+v: %d bytes, %v", file, len(got), err)
		}
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  bool
	}{
		{[]string{"pages.img", "checkpoint.img", "pages_meta.img"}, true},
		{[]string{"pages.img", "checkpoint.img", "pages_meta.img", InputName}, true},
		{[]string{"pages.img", "checkpoint.img", "pages_meta.img", InputName, InputName}, false},
		{[]string{"pages.img", "checkpoint.img"}, false},
		{[]string{"pages.img", "pages.img", "checkpoint.img", "pages_meta.img"}, false},
		{[]string{"pages.img", "checkpoint.img", "../pages_meta.img"}, false},
		{nil, false},
	} {
		if Complete(c.names) != c.want {
			t.Errorf("%q", c.names)
		}
	}
}

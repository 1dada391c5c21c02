package checkpoint

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func accept(Manifest) error { return nil }

func TestArchive(t *testing.T) {
	from, to := Folder(t.TempDir()), Folder(filepath.Join(t.TempDir(), "checkpoints"))
	var archives []byte
	var want []Manifest
	for _, content := range []string{"one", strings.Repeat("two", 10000)} {
		id, err := from.NewID()
		if err != nil {
			t.Fatal(err)
		}
		p, err := from.Begin(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(name+content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := p.Commit(Manifest{LastSeq: 3, Image: "i", Life: "l"})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, m)
		var b bytes.Buffer
		if err := from.Pack(t.Context(), m.ID, 1000, &b); err != nil {
			t.Fatal(err)
		}
		h, err := tar.NewReader(bytes.NewReader(b.Bytes())).Next()
		if err != nil || h.Name != m.ID+"/" || h.Uid != 1000 || h.Gid != 1000 {
			t.Errorf("the archive begins with %+v, %v", h, err)
		}
		archives = append(archives, bytes.TrimRight(b.Bytes(), "\x00")...)
		archives = append(archives, make([]byte, (512-len(archives)%512)%512)...)
	}
	archives = append(archives, make([]byte, 1024)...)
	taken, err := to.Unpack(t.Context(), bytes.NewReader(archives), 1<<20, accept)
	if err != nil || len(taken) != 2 {
		t.Fatalf("took over %+v, %v", taken, err)
	}
	for i, m := range want {
		got, err := to.Load(m.ID)
		if err != nil || !reflect.DeepEqual(got, m) && (got.Size != m.Size || got.Life != "l" || got.LastSeq != 3) {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
		for _, name := range files {
			a, _ := os.ReadFile(filepath.Join(from.Path(m.ID), name))
			b, err := os.ReadFile(filepath.Join(to.Path(m.ID), name))
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("%s came with %d bytes, %v", name, len(b), err)
			}
		}
	}
	// What is there stays as it is, whatever comes under its name.
	if taken, err := to.Unpack(t.Context(), bytes.NewReader(archives), 1<<20, func(Manifest) error { return errors.New("no") }); err != nil || len(taken) != 0 {
		t.Errorf("taken over twice: %+v, %v", taken, err)
	}
	// So does what is kept as blocks alone.
	id := want[0].ID
	if err := errors.Join(os.RemoveAll(to.Path(id)), os.WriteFile(to.Recipe(id), []byte("a recipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if taken, err := to.Unpack(t.Context(), bytes.NewReader(archives), 1<<20, accept); err != nil || len(taken) != 0 {
		t.Errorf("taken over in place of blocks: %+v, %v", taken, err)
	}
}

// What comes may come from who means harm: nothing of it is kept, and nothing outside the folder is
// touched.
func TestHostileArchives(t *testing.T) {
	const id = "00000001-0123456789abcdef"
	manifest := `{"format":1,"id":"` + id + `","last_seq":1}`
	file := func(name, content string) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644, PAXRecords: map[string]string{"comment": content}}
	}
	link := func(typ byte, name, to string) tar.Header { return tar.Header{Typeflag: typ, Name: name, Linkname: to} }
	for name, entries := range map[string][]tar.Header{
		"no manifest":                     {file(id+"/pages.img", "x")},
		"the manifest alone is another's": {file(id+"/manifest.json", strings.Replace(manifest, "00000001", "00000002", 1))},
		"no JSON":                         {file(id+"/manifest.json", "{")},
		"a large manifest":                {file(id+"/manifest.json", manifest+strings.Repeat(" ", maxManifest))},
		"another file":                    {file(id+"/manifest.json", manifest), file(id+"/sh", "x")},
		"a path out":                      {file(id+"/manifest.json", manifest), file(id+"/../../pages.img", "x")},
		"an absolute path":                {file("/etc/pages.img", "x")},
		"a symbolic link":                 {link(tar.TypeSymlink, id+"/pages.img", "/etc/passwd"), file(id+"/manifest.json", manifest)},
		"a hard link":                     {link(tar.TypeLink, id+"/pages.img", "/etc/passwd"), file(id+"/manifest.json", manifest)},
		"a link as the folder":            {link(tar.TypeSymlink, id, "/tmp"), file(id+"/pages.img", "x"), file(id+"/manifest.json", manifest)},
		"a device":                        {link(tar.TypeBlock, id+"/pages.img", ""), file(id+"/manifest.json", manifest)},
		"the same file twice":             {file(id+"/pages.img", "x"), file(id+"/pages.img", "y"), file(id+"/manifest.json", manifest)},
		"too much":                        {file(id+"/pages.img", strings.Repeat("x", 2<<20)), file(id+"/manifest.json", manifest)},
		"not of this life":                {file(id+"/pages.img", "refuse"), file(id+"/manifest.json", strings.Replace(manifest, `}`, `,"life":"other"}`, 1))},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			f := Folder(filepath.Join(root, "checkpoints"))
			_, err := f.Unpack(context.Background(), bytes.NewReader(archiveOf(t, entries)), 1<<20, func(m Manifest) error {
				if m.Life != "" {
					return errors.New("another life")
				}
				return nil
			})
			if err == nil {
				t.Error("it was accepted")
			}
			var left []string
			_ = filepath.WalkDir(root, func(path string, d os.DirEntry, _ error) error {
				if path != root && path != string(f) {
					left = append(left, path)
				}
				return nil
			})
			if len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
	// Broken off in the middle.
	whole := archiveOf(t, []tar.Header{file(id+"/pages.img", strings.Repeat("x", 5000)), file(id+"/manifest.json", manifest)})
	for _, n := range []int{10, 512, 3000, len(whole) - 1024 - 512} {
		f := Folder(t.TempDir())
		if _, err := f.Unpack(context.Background(), bytes.NewReader(whole[:n]), 1<<20, accept); err == nil {
			t.Errorf("%d bytes of it were accepted", n)
		}
		if got := names(t, f); len(got) > 0 {
			t.Errorf("after %d bytes are left %q", n, got)
		}
	}
}

// archiveOf writes entries, whose content stands in their comment.
func archiveOf(t testing.TB, entries []tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		content := h.PAXRecords["comment"]
		h.PAXRecords = nil
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func FuzzUnpack(f *testing.F) {
	const id = "00000001-0123456789abcdef"
	f.Add(archiveOf(f, []tar.Header{
		{Typeflag: tar.TypeReg, Name: id + "/pages.img", Size: 1, PAXRecords: map[string]string{"comment": "x"}},
		{Typeflag: tar.TypeReg, Name: id + "/manifest.json", Size: 58, PAXRecords: map[string]string{"comment": `{"format":1,"id":"` + id + `"}  `}},
	}[:1]))
	f.Fuzz(func(t *testing.T, b []byte) {
		root := t.TempDir()
		taken, err := Folder(filepath.Join(root, "c")).Unpack(context.Background(), bytes.NewReader(b), 1<<16, accept)
		entries, _ := os.ReadDir(root)
		for _, e := range entries {
			if e.Name() != "c" {
				t.Fatalf("made %s", e.Name())
			}
		}
		if err == nil {
			list, _ := Folder(filepath.Join(root, "c")).List()
			if len(list) != len(taken) {
				t.Fatalf("took over %d, there are %d", len(taken), len(list))
			}
		}
	})
}

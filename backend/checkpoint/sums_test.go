package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/iotest"

	"lukechampine.com/blake3"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// putAll makes a checkpoint that has every file.
func putAll(t *testing.T, f Folder) (Manifest, map[string][]byte) {
	t.Helper()
	id, err := f.NewID()
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Begin(id)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for i, name := range files {
		content[name] = bytes.Repeat([]byte{byte(i), 7, 1, 9}, (i+1)*3*blocks.Unit/4)
		if err := os.WriteFile(filepath.Join(p.Dir, name), content[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := p.Commit(Manifest{LastSeq: 4, Life: "l"})
	if err != nil {
		t.Fatal(err)
	}
	return m, content
}

// damages are what disks do to files.
var damages = map[string]func(path string) error{
	"a bit":     func(path string) error { return flip(path, 0) },
	"the end":   func(path string) error { return flip(path, -1) },
	"truncated": func(path string) error { return cut(path, 1) },
	"a page":    func(path string) error { return cut(path, blocks.Unit) },
	"empty":     func(path string) error { return os.Truncate(path, 0) },
	"missing":   os.Remove,
	"longer": func(path string) error {
		b, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(path, append(b, make([]byte, blocks.Unit)...), 0o600))
	},
}

func flip(path string, at int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[(at+len(b))%len(b)] ^= 1
	return os.WriteFile(path, b, 0o600)
}

func cut(path string, n int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, max(0, info.Size()-n))
}

// Whatever a disk does to a file of a checkpoint is found when it is read, by everybody who reads
// it.
func TestDamage(t *testing.T) {
	for _, name := range packed() {
		for what, damage := range damages {
			t.Run(name+" "+what, func(t *testing.T) {
				root := t.TempDir()
				f := Folder(filepath.Join(root, "checkpoints"))
				store := blocks.Open(filepath.Join(root, "blocks"), f.Recipes)
				m, _ := putAll(t, f)
				if err := f.Compare(t.Context(), m.ID); err != nil {
					t.Fatal(err)
				}
				if err := damage(filepath.Join(f.Path(m.ID), name)); err != nil {
					t.Fatal(err)
				}
				if err := f.Compare(t.Context(), m.ID); !errors.Is(err, ErrUnusable) {
					t.Errorf("compared: %v", err)
				}
				if err := Check(f.Path(m.ID)); name != pagesName && !errors.Is(err, ErrUnusable) {
					t.Errorf("checked: %v", err)
				}
				if _, err := f.Keep(t.Context(), m.ID, "", store); err == nil && name != sumsName {
					t.Error("it is kept as blocks")
				}
				if err := readAll(f.Path(m.ID)); err == nil {
					t.Error("it is read")
				}
			})
		}
	}
}

// readAll reads a checkpoint as an export does.
func readAll(dir string) error {
	found, err := Files(dir)
	if err != nil {
		return err
	}
	if err := Check(dir); err != nil {
		return err
	}
	for _, file := range found {
		in, err := OpenFile(dir, file.Name)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, in)
		in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// A manifest in which any one byte has changed is none.
func TestManifestDamage(t *testing.T) {
	f := Folder(t.TempDir())
	m, _ := putAll(t, f)
	path := filepath.Join(f.Path(m.ID), manifestName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		b := bytes.Clone(whole)
		b[at] ^= 2
		if got, err := parseFile(b); err == nil {
			t.Errorf("byte %d: %+v", at, got)
		}
	}
	if got, err := parseFile(whole); err != nil || got.Check != "" || got.ID != m.ID {
		t.Errorf("%+v, %v", got, err)
	}
}

// What comes back from blocks, or goes to another machine, can be checked as well.
func TestSumsOfCopies(t *testing.T) {
	root := t.TempDir()
	f := Folder(filepath.Join(root, "checkpoints"))
	store := blocks.Open(filepath.Join(root, "blocks"), f.Recipes)
	m, _ := putAll(t, f)
	if _, err := f.Keep(t.Context(), m.ID, "", store); err != nil {
		t.Fatal(err)
	}
	to := Folder(filepath.Join(root, "fork"))
	copied, err := f.Copy(t.Context(), m.ID, to, store)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Compare(t.Context(), copied.ID); err != nil {
		t.Error(err)
	}
	restored := func(like string) error {
		dir := t.TempDir()
		if err := f.Expand(t.Context(), m.ID, dir, like, store); err != nil {
			return err
		}
		m, err := LoadAt(filepath.Join(dir, m.ID))
		if err != nil {
			return err
		}
		return m.checkAll(context.Background(), filepath.Join(dir, m.ID))
	}
	if err := restored(f.Path(m.ID)); err != nil {
		t.Error(err)
	}
	// A fork shares the files, so it finds the damage, and blocks count where a file that is like
	// it is damaged.
	if err := flip(filepath.Join(f.Path(m.ID), pagesName), 5000); err != nil {
		t.Fatal(err)
	}
	if err := to.Compare(t.Context(), copied.ID); !errors.Is(err, ErrUnusable) {
		t.Errorf("a fork: %v", err)
	}
	if again, err := to.Copy(t.Context(), copied.ID, Folder(filepath.Join(root, "again")), store); err == nil {
		if err := Folder(filepath.Join(root, "again")).Compare(t.Context(), again.ID); !errors.Is(err, ErrUnusable) {
			t.Errorf("a fork of the damaged: %v", err)
		}
	}
	if err := restored(f.Path(m.ID)); err != nil {
		t.Errorf("like a damaged one: %v", err)
	}
}

// What an earlier version saved has no checksums: with its digest it is compared, without, it is
// sealed.
func TestEarlierVersion(t *testing.T) {
	f := Folder(t.TempDir())
	m, _ := putAll(t, f)
	m.Sums = nil
	if err := os.Remove(filepath.Join(f.Path(m.ID), sumsName)); err != nil {
		t.Fatal(err)
	}
	if err := f.replace(m); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Path(m.ID), manifestName)
	old := func(m Manifest) {
		t.Helper()
		if err := f.replace(m); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		read, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.Replace(b, []byte(",\n  \"check\": \""+read.Check+"\""), nil, 1)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old(m)
	if err := f.Compare(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	digest, err := f.digest(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	m.Digest = digest
	old(m)
	if err := f.Seal(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	if err := f.Compare(t.Context(), m.ID); err != nil {
		t.Error(err)
	}
	if err := flip(filepath.Join(f.Path(m.ID), pagesName), 99); err != nil {
		t.Fatal(err)
	}
	if err := f.Compare(t.Context(), m.ID); !errors.Is(err, ErrUnusable) {
		t.Errorf("by its digest: %v", err)
	}
	m.Digest = ""
	old(m)
	if err := f.Seal(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	if err := flip(filepath.Join(f.Path(m.ID), pagesName), 77); err != nil {
		t.Fatal(err)
	}
	if err := f.Compare(t.Context(), m.ID); !errors.Is(err, ErrUnusable) {
		t.Errorf("once it is sealed: %v", err)
	}
}

// What passes says nothing of a file; what the disk cannot give back does.
func TestUnreadable(t *testing.T) {
	for err, want := range map[error]bool{syscall.EIO: true, fs.ErrNotExist: true, syscall.EMFILE: false, fs.ErrPermission: false} {
		r := checkedReader{iotest.ErrReader(&fs.PathError{Op: "read", Path: "x", Err: err}), &checker{hash: blake3.New(32, nil)}}
		if _, got := r.Read(make([]byte, 8)); !errors.Is(got, err) || errors.Is(got, ErrUnusable) != want {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}

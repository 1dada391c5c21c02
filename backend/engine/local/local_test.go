package local

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// What cannot change is not read.
func TestDigestsThatAreTold(t *testing.T) {
	s := NewStore(Config{Data: t.TempDir(), Log: slog.New(slog.DiscardHandler), Sums: map[string]string{"/parts/runsc": "sum"}})
	if got, err := s.Digest("/parts/runsc"); err != nil || got != "sum" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDigestsAreRemembered(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	log := slog.New(slog.DiscardHandler)
	d := &digests{file: filepath.Join(dir, "data", "digests.json"), log: log}
	one, err := d.of(file)
	if err != nil || len(one) != 64 {
		t.Fatalf("%q, %v", one, err)
	}
	// Another process knows it without reading: a wrong entry would be believed.
	var stored map[string]remembered
	b, err := os.ReadFile(d.file)
	if err == nil {
		err = json.Unmarshal(b, &stored)
	}
	if err != nil || stored[file].SHA256 != one {
		t.Errorf("stored %+v, %v", stored, err)
	}
	again := &digests{file: d.file, log: log}
	if got, err := again.of(file); err != nil || got != one {
		t.Errorf("remembered %q, %v", got, err)
	}
	write("two")
	if got, err := again.of(file); err != nil || got == one {
		t.Errorf("of a changed file %q, %v", got, err)
	}
	// Put in place of the old one with the old one's times, as an update does.
	info, _ := os.Stat(file)
	other := filepath.Join(dir, "other")
	_ = os.WriteFile(other, []byte("six"), 0o600)
	_ = os.Chtimes(other, info.ModTime(), info.ModTime())
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	two, _ := hashFile(file)
	if got, err := again.of(file); err != nil || got != two {
		t.Errorf("of a file put in its place %q, %v", got, err)
	}
	// A broken memory is no memory.
	_ = os.WriteFile(d.file, []byte("{"), 0o600)
	if got, err := (&digests{file: d.file, log: log}).of(file); err != nil || got != two {
		t.Errorf("with a broken memory %q, %v", got, err)
	}
	// Nor is one that cannot be written, as on a full disk.
	if got, err := (&digests{file: filepath.Join(file, "digests.json"), log: log}).of(file); err != nil || got != two {
		t.Errorf("with no memory %q, %v", got, err)
	}
}

// A template is of the very image (the runner is in it), runsc and spec that it was made with:
// another one is made when any changes.
func TestTemplateOfOtherParts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"runsc", "base.erofs"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := NewStore(Config{Runsc: filepath.Join(dir, "runsc"), Images: dir, Data: filepath.Join(dir, "data"), Log: slog.New(slog.DiscardHandler)})
	p, err := s.Parts("base")
	if err != nil {
		t.Fatal(err)
	}
	same, image, runtime := p, p, p
	same.Image, same.Runsc = "/elsewhere/base.erofs", "/elsewhere/runsc"
	image.ImageDigest, runtime.RuntimeDigest = "another", "another"
	if same.key() != p.key() || image.key() == p.key() || runtime.key() == p.key() || image.key() == runtime.key() {
		t.Errorf("the keys are %s, %s in another place, %s with another image, %s with another runsc", p.key(), same.key(), image.key(), runtime.key())
	}
	// The template of another runsc is not taken for this one's, and goes.
	old := filepath.Join(s.cfg.Data, "templates", runtime.key())
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	found, err := s.Template(t.Context(), p, func(_ context.Context, dir string) error {
		name, err := Checkpoints(dir).NewID()
		if err != nil {
			return err
		}
		pending, err := Checkpoints(dir).Begin(name)
		if err != nil {
			return err
		}
		_, err = pending.Commit(checkpoint.Manifest{})
		return err
	})
	if err != nil || filepath.Dir(filepath.Dir(found)) != filepath.Join(s.cfg.Data, "templates", p.key()) {
		t.Errorf("the template is %s, %v", found, err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the other one is still there: %v", err)
	}
}

// A checkpoint whose blocks cannot be kept is as good as its files: they are brought to the disk
// instead.
func TestKeepWithoutBlocks(t *testing.T) {
	data := t.TempDir()
	s := NewStore(Config{Data: data, Images: data, Log: slog.New(slog.DiscardHandler)})
	folder := Checkpoints(s.Machine("m"))
	id, err := folder.NewID()
	if err != nil {
		t.Fatal(err)
	}
	p, err := folder.Begin(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "pages.img"), []byte("pages"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CommitUnsynced(checkpoint.Manifest{LastSeq: 3}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "blocks"), nil, 0o600); err != nil { // where the store's folder would be
		t.Fatal(err)
	}
	if err := s.Persist(t.Context(), "m", id, false); err != nil {
		t.Fatal(err)
	}
	m, err := checkpoint.Load(folder.Path(id))
	if err != nil || m.Boot != "" || m.LastSeq != 3 || m.Size != 5 {
		t.Errorf("%+v, %v", m, err)
	}
	if entries, err := os.ReadDir(string(folder)); err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// saved makes a checkpoint of a machine, with one file of data.
func saved(t *testing.T, folder checkpoint.Folder, p Parts) string {
	t.Helper()
	id, err := folder.NewID()
	if err != nil {
		t.Fatal(err)
	}
	pending, err := folder.Begin(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pending.Dir, "pages.img"), []byte("pages"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pending.Commit(checkpoint.Manifest{Spec: sandbox.SpecDigest(), Image: p.ImageDigest, Runtime: p.RuntimeDigest}); err != nil {
		t.Fatal(err)
	}
	return id
}

// flip changes a file as a disk may.
func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Once nobody waits, what a machine left memory with is kept as blocks, too, so that older states
// of it come back with what they have in common with its files. A fork's, which is another's, is
// not looked through for that.
func TestWhatLeftMemoryIsKeptAsBlocks(t *testing.T) {
	data := t.TempDir()
	s := NewStore(Config{Data: data, Images: data, Log: slog.New(slog.DiscardHandler)})
	folder := Checkpoints(s.Machine("m"))
	forked := saved(t, folder, Parts{})
	id, err := folder.NewID()
	if err != nil {
		t.Fatal(err)
	}
	pending, err := folder.Begin(id)
	if err == nil {
		err = os.WriteFile(filepath.Join(pending.Dir, "pages.img"), []byte("pages"), 0o600)
	}
	if err == nil {
		_, err = pending.Commit(checkpoint.Manifest{Life: "its own"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{forked: false, id: true} {
		if err := s.Seal(t.Context(), "m", name); err != nil {
			t.Fatal(err)
		}
		if folder.Kept(name) != kept || !folder.Whole(name) {
			t.Errorf("%s: kept as blocks: %v, whole: %v", name, folder.Kept(name), folder.Whole(name))
		}
	}
	if like := folder.Like(); like != folder.Path(id) {
		t.Errorf("others come back with what they have in common with %q", like)
	}
}

// A bit of a whole checkpoint that has flipped is not brought into memory in silence by a runsc
// that does not look: the blocks count where there are any, else it says so. A check finds it at
// any time.
func TestWhatTheDiskChangedIsNotRestored(t *testing.T) {
	data := t.TempDir()
	s := NewStore(Config{Data: data, Images: data, Log: slog.New(slog.DiscardHandler)})
	folder := Checkpoints(s.Machine("m"))
	p := Parts{ImageDigest: "i", RuntimeDigest: "r"}
	open := func(id string) (string, error) {
		dir, done, err := s.Open(t.Context(), "m", id, p)
		if err == nil {
			done()
		}
		return dir, err
	}
	id := saved(t, folder, p)
	if dir, err := open(id); err != nil || dir != folder.Path(id) {
		t.Errorf("opened in %s, %v", dir, err)
	}
	if _, err := folder.Keep(t.Context(), id, "", s.blocks); err != nil {
		t.Fatal(err)
	}
	flip(t, filepath.Join(folder.Path(id), "pages.img"))
	if dir, err := open(id); err != nil || dir == folder.Path(id) {
		t.Errorf("with blocks, opened in %s, %v", dir, err)
	}
	if err := os.Remove(folder.Recipe(id)); err != nil {
		t.Fatal(err)
	}
	if dir, err := open(id); !errors.Is(err, machine.ErrCheckpointUnusable) {
		t.Errorf("without blocks, opened in %s, %v", dir, err)
	}
	if n, lost, err := Whole(t.Context(), data, true); err != nil || n != 1 || lost[folder.Path(id)] == nil {
		t.Errorf("of %d are lost %v, %v", n, lost, err)
	}
	if n, lost, err := Whole(t.Context(), data, false); err != nil || n != 1 || len(lost) != 0 {
		t.Errorf("without reading, of %d are lost %v, %v", n, lost, err)
	}
}

// The files of a checkpoint stay where its blocks cannot be read back.
func TestWhatCannotBeRestoredIsNotDropped(t *testing.T) {
	data := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	s := NewStore(Config{Data: data, Images: data, Log: log})
	folder := Checkpoints(s.Machine("m"))
	id := saved(t, folder, Parts{})
	if _, err := folder.Keep(t.Context(), id, "", s.blocks); err != nil {
		t.Fatal(err)
	}
	packs, _ := filepath.Glob(filepath.Join(data, "blocks", "*.pack"))
	if len(packs) != 1 {
		t.Fatalf("the packs are %q", packs)
	}
	b, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	b[8+41+2] ^= 1 // of the first block
	if err := os.WriteFile(packs[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = NewStore(Config{Data: data, Images: data, Log: log})
	if _, err := s.Compact(t.Context(), "m", id); err == nil {
		t.Error("it is said to be kept as blocks")
	}
	if b, err := os.ReadFile(filepath.Join(folder.Path(id), "pages.img")); err != nil || string(b) != "pages" {
		t.Errorf("its files are gone: %q, %v", b, err)
	}
}

// Who waits for a checkpoint gets its files on the disk; its blocks are made later.
func TestAwaitedCheckpointsAreNotLookedThrough(t *testing.T) {
	data := t.TempDir()
	s := NewStore(Config{Data: data, Images: data, Log: slog.New(slog.DiscardHandler)})
	folder := Checkpoints(s.Machine("m"))
	for awaited, kept := range map[bool]bool{true: false, false: true} {
		id, err := folder.NewID()
		if err != nil {
			t.Fatal(err)
		}
		p, err := folder.Begin(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Dir, "pages.img"), []byte("pages"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := p.CommitUnsynced(checkpoint.Manifest{})
		if err != nil {
			t.Fatal(err)
		}
		if m.Boot == "" {
			t.Skip("everything is synced here")
		}
		if err := s.Persist(t.Context(), "m", id, awaited); err != nil {
			t.Fatal(err)
		}
		m, err = checkpoint.Load(folder.Path(id))
		if err != nil || (m.Boot == "") != awaited || folder.Kept(id) != kept {
			t.Errorf("awaited: %v; kept as blocks: %v; %+v, %v", awaited, folder.Kept(id), m, err)
		}
	}
}

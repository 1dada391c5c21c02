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
)

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

// A template is of the very image (the runner is in it), runsc and spec that it was made with: another one is made when any changes.
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

// A checkpoint whose blocks cannot be kept is as good as its files: they are brought to the disk instead.
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
	if err := s.Keep(t.Context(), "m", id); err != nil {
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

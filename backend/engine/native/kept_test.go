//go:build linux && real

package native

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// An update brings another runsc. Machines that were saved before come into memory all the same, by
// a copy of the one that saved them, which goes when no machine needs it any more.
func TestAMachineOutlivesItsSandbox(t *testing.T) {
	data, now := t.TempDir(), newEngine(t, t.TempDir())
	if err := hometest.Lend(data); err != nil { // the image's digest; the template is another's
		t.Fatal(err)
	}
	program, err := os.ReadFile(now.store.Config().Runsc)
	if err != nil {
		t.Fatal(err)
	}
	cfg, place := now.cfg, now.store.Config()
	place.Data, place.Runsc = data, filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(place.Runsc, append(program, 0), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.Store = local.NewStore(place)
	before := New(cfg)
	held := before.store.HoldParts()
	defer held.Close()
	t.Cleanup(func() { _ = before.Close() })
	box := startNew(t, before, "m")
	run(t, box, 0, "x = 42; x")
	saved, err := box.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range box.Frames() {
	}
	<-box.Ended()
	// The update comes before a copy was kept.
	if held.Replaced() {
		t.Error("they are said to be replaced, and are not")
	}
	if err := errors.Join(before.Close(), os.Remove(place.Runsc)); err != nil {
		t.Fatal(err)
	}
	if !held.Replaced() {
		t.Error("nobody sees that they are replaced")
	}
	if err := held.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}

	place.Runsc = now.store.Config().Runsc
	cfg.Store = local.NewStore(place)
	after := New(cfg)
	t.Cleanup(func() { _ = after.Close() })
	spec := machine.StartSpec{ID: "m", Name: "test", Image: "base", MemoryMB: 512, Life: "next", Checkpoint: saved.ID}
	again, err := after.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if x := run(t, again.(*link.Sandbox), 1, "x"); x != "42" {
		t.Errorf("x is %s", x)
	}
	again.Kill()
	for range again.Frames() {
	}
	<-again.Ended()

	kept := func() (names []string) {
		err := filepath.WalkDir(filepath.Join(data, "parts"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, filepath.Base(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		return names
	}
	if got, want := kept(), []string{"base.erofs.zst", "runsc", "runsc.zst"}; !slices.Equal(got, want) {
		t.Errorf("kept are %q", got)
	}
	unreadable := filepath.Join(after.store.Machine("m"), "checkpoints", "00000009-0123456789abcdef.blocks")
	if err := errors.Join(os.WriteFile(unreadable, []byte("by a later version"), 0o600), after.store.ForgetParts()); err != nil || len(kept()) != 3 {
		t.Errorf("beside a checkpoint that cannot be read, kept are %q, %v", kept(), err)
	}
	if err := os.Remove(unreadable); err != nil {
		t.Fatal(err)
	}
	if err := after.store.Delete(t.Context(), "m", saved.ID); err != nil {
		t.Fatal(err)
	}
	if err := after.store.ForgetParts(); err != nil {
		t.Fatal(err)
	}
	if got := kept(); len(got) > 0 {
		t.Errorf("when no machine needs them, kept are %q", got)
	}
}

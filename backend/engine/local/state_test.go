package local

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// What a machine from elsewhere needs has to be what is here, and what is not is said.
func TestSuits(t *testing.T) {
	dir := t.TempDir()
	runsc := filepath.Join(dir, "runsc")
	for path, content := range map[string]string{runsc: "#!/bin/sh\necho sse2,avx\n", filepath.Join(dir, "base.erofs"): "image"} {
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := NewStore(Config{Runsc: runsc, Data: t.TempDir(), Images: dir, Log: slog.New(slog.DiscardHandler)})
	p, err := s.Parts("base")
	if err != nil {
		t.Fatal(err)
	}
	here := machine.Needs{Processor: runtime.GOARCH, Image: p.ImageDigest, Runtime: p.RuntimeDigest, Spec: sandbox.SpecDigest()}
	if err := s.CheckCompatible(t.Context(), "base", here); err != nil {
		t.Error(err)
	}
	cases := map[string]func(n *machine.Needs){
		"another kind of processor": func(n *machine.Needs) { n.Processor = "riscv64" },
		"the sandbox image":         func(n *machine.Needs) { n.Image = "other" },
		"the sandbox that":          func(n *machine.Needs) { n.Runtime = "other" },
		"same version":              func(n *machine.Needs) { n.Spec = "other" },
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		cases["(avx512f, amx)"] = func(n *machine.Needs) { n.Features = []string{"sse2", "avx512f", "avx", "amx"} }
	}
	for says, change := range cases {
		needs := here
		change(&needs)
		if err := s.CheckCompatible(t.Context(), "base", needs); !errors.Is(err, machine.ErrCheckpointUnusable) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if err := s.CheckCompatible(t.Context(), "ml", here); !errors.Is(err, machine.ErrUnavailable) {
		t.Errorf("an image that is not here: %v", err)
	}
}

func TestTakeState(t *testing.T) {
	s := NewStore(Config{Data: t.TempDir(), Images: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	contents := map[string]string{"checkpoint.img": "kernel", "pages.img": "pages", "pages_meta.img": "meta"}
	state := machine.SavedState{LastSeq: 4, Baseline: 9, Needs: machine.Needs{Image: "i", Runtime: "r", Spec: "s", Features: []string{"avx", "sse2"}}}
	for _, name := range []string{"checkpoint.img", "pages.img", "pages_meta.img"} {
		state.Files = append(state.Files, machine.StateFile{Name: name, Size: int64(len(contents[name]))})
	}
	next := func(f machine.StateFile) (io.Reader, error) { return strings.NewReader(contents[f.Name]), nil }
	info, err := s.Import(t.Context(), "m", state, next)
	if err != nil || info.LastSeq != 4 || info.Size != 15 || info.Image != "i" {
		t.Fatalf("%+v, %v", info, err)
	}
	// Kept as blocks or as it came, it is read as it was.
	for _, kept := range []string{"whole", "as blocks"} {
		open, err := s.Export(t.Context(), "m", info.ID)
		if err != nil {
			t.Fatal(err)
		}
		if st := open.State; st.LastSeq != 4 || st.Baseline != 9 || len(st.Files) != 3 || strings.Join(st.Needs.Features, " ") != "avx sse2" || st.Needs.Processor != runtime.GOARCH {
			t.Errorf("%s: %+v", kept, st)
		}
		for _, f := range open.State.Files {
			r, err := open.Open(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(r); err != nil || string(b) != contents[f.Name] {
				t.Errorf("%s: %s is %q, %v", kept, f.Name, b, err)
			}
			r.Close()
		}
		if _, err := open.Open("manifest.json"); err == nil {
			t.Error("what is no file of the state was opened")
		}
		open.Close()
		if _, err := s.Compact(t.Context(), "m", info.ID); err != nil {
			t.Fatal(err)
		}
	}

	for what, change := range map[string]func(st *machine.SavedState){
		"a file of another name": func(st *machine.SavedState) { st.Files[0].Name = "../../../escape" },
		"an absolute name":       func(st *machine.SavedState) { st.Files[0].Name = "/tmp/escape" },
		"a name of Windows":      func(st *machine.SavedState) { st.Files[0].Name = `..\..\escape` },
		"a folder":               func(st *machine.SavedState) { st.Files[0].Name = "a/checkpoint.img" },
		"no name":                func(st *machine.SavedState) { st.Files[0].Name = "" },
		"a name with a NUL":      func(st *machine.SavedState) { st.Files[0].Name = "checkpoint.img\x00x" },
		"endless zeros":          func(st *machine.SavedState) { st.Files[1].Size = 1 },
		"a manifest":             func(st *machine.SavedState) { st.Files[0].Name = "manifest.json" },
		"a file twice":           func(st *machine.SavedState) { st.Files[0].Name = "pages.img" },
		"a file less":            func(st *machine.SavedState) { st.Files = st.Files[1:] },
		"a longer file":          func(st *machine.SavedState) { st.Files[1].Size++ },
		"a shorter file":         func(st *machine.SavedState) { st.Files[1].Size-- },
	} {
		bad := state
		bad.Files = append([]machine.StateFile(nil), state.Files...)
		change(&bad)
		from := next
		if what == "endless zeros" { // as 100 KB of a file may be
			from = func(f machine.StateFile) (io.Reader, error) {
				if f.Size == 1 {
					return zeros{}, nil
				}
				return next(f)
			}
		}
		if _, err := s.Import(t.Context(), "bad", bad, from); !errors.Is(err, machine.ErrCheckpointUnusable) {
			t.Errorf("%s: %v", what, err)
		}
		if left, _ := os.ReadDir(string(Checkpoints(s.Machine("bad")))); len(left) > 0 {
			t.Errorf("%s: left is %v", what, left)
		}
	}
	if _, err := s.Import(t.Context(), "../m", state, next); !errors.Is(err, machine.ErrInvalid) {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

//go:build linux && real

package wsl_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/parts"
	"github.com/forevervm/desktop/backend/engine/remote/wsl"
	"github.com/forevervm/desktop/backend/engine/remote/wsl/wsltest"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// light are parts with an agent and nothing that makes machines.
func light(t *testing.T) *parts.Parts {
	t.Helper()
	bin, folder, content := hometest.Bin(t, "agent"), t.TempDir(), make([]byte, 8<<20)
	err := errors.Join(os.Mkdir(filepath.Join(folder, "image"), 0o755), os.Symlink(filepath.Join(bin, "agent"), filepath.Join(folder, "agent")))
	for _, name := range []string{"supervisor", "runsc", "image/base.erofs"} {
		_, failed := rand.Read(content)
		err = errors.Join(err, failed, os.WriteFile(filepath.Join(folder, name), content, 0o755))
	}
	p, failed := parts.Own(folder)
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return p
}

// place is one in a WSL that is played, with the build of the stand-in for this system.
func place(t *testing.T) (*wsltest.WSL, *wsl.Place, string) {
	t.Helper()
	w, folder := wsltest.Serve(t), filepath.Join(t.TempDir(), "wsl", "place")
	t.Setenv(wsltest.Address, w.Address)
	return w, wsl.New(wsl.Config{
		Program: filepath.Join(wsltest.Build(t, "linux"), "wsl.exe"), Folder: folder, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Free: func(at string) (int64, error) { _, err := os.Stat(at); return 2 << 30, err },
	}), folder
}

// An installation and an update that break off on the way are mended by the next one. An update
// that breaks off leaves the place as it was.
func TestInterruptions(t *testing.T) {
	w, p, folder := place(t)
	first, second := light(t), light(t)
	broken := func(made *parts.Parts) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := p.Install(ctx, made, func(sent int64) {
			if sent > made.Size/2 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended as %v", err)
		}
	}
	known := func(want string) {
		t.Helper()
		if f, err := p.Look(t.Context()); err != nil || f.Problem != nil || f.Installed != want {
			t.Errorf("it is known as %+v, %v, want %q", f, err, want)
		}
	}
	install := func(made *parts.Parts) {
		t.Helper()
		if err := p.Install(t.Context(), made, nil); err != nil {
			t.Fatal(err)
		}
		known(made.Digest)
	}
	broken(first)
	known("")
	if err := errors.Join(w.Keep(folder), os.WriteFile(w.Disk(), []byte("machines"), 0o600)); err != nil { // WSL may forget it
		t.Fatal(err)
	}
	install(first)
	left, err := filepath.Glob(w.Disk() + ".*.left")
	if err != nil || len(left) != 1 {
		t.Fatalf("a disk that WSL has forgotten has become %v, %v", left, err)
	}
	if b, err := os.ReadFile(left[0]); err != nil || string(b) != "machines" {
		t.Errorf("a disk that WSL has forgotten has become %q, %v", b, err)
	}
	w.Has("ForeverVM", true) // as it is while a person exports it
	if f, err := p.Look(t.Context()); err != nil || f.Problem == nil || !strings.Contains(f.Problem.What, "WSL is busy") {
		t.Errorf("one that is exported is known as %+v, %v", f, err)
	}
	if err := p.Install(t.Context(), first, nil); err == nil || w.Distribution() == "" {
		t.Errorf("one that is exported is replaced: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "importing"), nil, 0o600); err != nil { // as an import that was killed leaves it
		t.Fatal(err)
	}
	known("")
	if err := os.RemoveAll(w.Root); err != nil {
		t.Fatal(err)
	}
	install(first)
	machines := filepath.Join(w.Root, "home/forevervm/data/machines")
	if err := os.Mkdir(machines, 0o700); err != nil {
		t.Fatal(err)
	}
	broken(second)
	known(first.Digest)
	install(second)
	install(second) // nothing to do
	if _, err := os.Stat(machines); err != nil {
		t.Errorf("the machines are gone: %v", err)
	}
	if err := p.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); w.Distribution() != "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left are %q, %v", w.Distribution(), err)
	}
}

// A person's own distribution that has the name is left alone.
func TestAForeignDistribution(t *testing.T) {
	for _, half := range []bool{false, true} {
		w, p, _ := place(t)
		w.Has("FOREVERVM", half)
		f, err := p.Look(t.Context())
		if err != nil || f.Problem == nil || !strings.Contains(f.Problem.What, "has not made") {
			t.Errorf("it is known as %+v, %v", f, err)
		}
		for what, err := range map[string]error{"install": p.Install(t.Context(), light(t), nil), "remove": p.Remove(t.Context()), "fits": p.Fits(f, light(t))} {
			if err == nil || !strings.Contains(err.Error(), "left alone") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if w.Distribution() == "" {
			t.Error("it is gone")
		}
	}
}

// What is missing is told, with what to do.
func TestWhatIsMissing(t *testing.T) {
	w, p, _ := place(t)
	old := &wsltest.Answer{Says: "Ungültige Befehlszeilenoption.\r\n", Code: -1}
	for _, c := range []struct {
		question string
		answer   *wsltest.Answer
		want     string
		step     wsl.Step
	}{
		{"--status", &wsltest.Answer{Code: 50}, "is not installed", wsl.StepInstall},
		{"--status", old, "is not installed", wsl.StepInstall},
		{"--status", &wsltest.Answer{Says: "Version: 2\r\nhttps://aka.ms/enablevirtualization\r\n"}, "Virtual Machine Platform", wsl.StepInstall},
		{"--version", old, "too old", wsl.StepUpdate},
		{"--list", &wsltest.Answer{Says: "Code: Wsl/ERROR_ACCESS_DISABLED_BY_POLICY\r\n", Code: -1}, "does not allow", ""},
	} {
		w.Answer(c.question, c.answer)
		f, err := p.Look(t.Context())
		if err != nil || f.Problem == nil || !strings.Contains(f.Problem.What, c.want) || f.Problem.Step != c.step || f.Problem.Do == "" {
			t.Errorf("%+v: it is known as %+v, %v", c.answer, f.Problem, err)
		}
		w.Answer(c.question, nil)
	}
	w.Answer("--list", &wsltest.Answer{Says: "Leer.\r\nCode: Wsl/WSL_E_DEFAULT_DISTRO_NOT_FOUND\r\n", Code: -1})
	f, err := p.Look(t.Context())
	if err != nil || f.Problem != nil || f.Free != 2<<30 {
		t.Errorf("without any distribution it is known as %+v, %v", f, err)
	}
	made := light(t)
	if err := p.Fits(f, made); err != nil {
		t.Error(err)
	}
	if made.Size = 1 << 30; !errors.Is(p.Fits(f, made), machine.ErrDiskFull) {
		t.Error("it fits onto a disk that is too small")
	}
	w.Answer("--list", &wsltest.Answer{Says: "Katastrophal.\r\nCode: Wsl/E_UNEXPECTED\r\n", Code: -1})
	if _, err := p.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "WSL says: Katastrophal. Code: Wsl/E_UNEXPECTED") {
		t.Errorf("an unknown answer is told as %v", err)
	}
	none := wsl.New(wsl.Config{Program: "/nowhere/wsl.exe", Folder: "/nowhere", Free: func(string) (int64, error) { return 0, nil }})
	if f, err := none.Look(t.Context()); err != nil || f.Problem == nil || !strings.Contains(f.Problem.What, "has no WSL") {
		t.Errorf("without wsl.exe it is known as %+v, %v", f.Problem, err)
	}
}

// What wsl.exe says in place of an agent, on its standard output, is what a person reads.
func TestNoAgent(t *testing.T) {
	_, p, _ := place(t)
	owner := make([]byte, 16)
	if _, err := rand.Read(owner); err != nil {
		t.Fatal(err)
	}
	r := remote.New(remote.Config{Name: "wsl", Owner: hex.EncodeToString(owner), Dialer: p.Dialer()})
	defer r.Close()
	if _, err := r.Used(); !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "Somebody has removed ForeverVM") {
		t.Errorf("it is told as %v", err)
	}
}

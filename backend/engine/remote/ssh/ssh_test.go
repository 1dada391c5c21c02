//go:build linux && system

package ssh_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/egress/egresstest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/ssh"
	"github.com/forevervm/desktop/backend/engine/remote/ssh/sshtest"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parts are what `make build` has built.
func parts(t testing.TB) *ssh.Parts {
	t.Helper()
	p, err := ssh.OwnParts(hometest.Bin(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// light are parts without a gigabyte of image, for what runs no machine.
func light(t *testing.T) *ssh.Parts {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "image"), 0o755); err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 8<<20)
	for _, name := range []string{"agent", "supervisor", "runsc", "image/base.erofs"} {
		_, err := rand.Read(content)
		if err := errors.Join(err, os.WriteFile(filepath.Join(folder, name), content, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := ssh.OwnParts(folder)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// installed is a host with a place of these parts, and the home of the user there.
func installed(t *testing.T, p *ssh.Parts) (ssh.Host, string) {
	t.Helper()
	address, home := sshtest.Stranger(t)
	h := ssh.Host(address)
	facts, err := h.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if facts.Home != home || facts.Installed != "" || facts.Free <= 0 {
		t.Errorf("it is known as %+v", facts)
	}
	if err := h.Fits(facts, p); err != nil {
		t.Fatal(err)
	}
	sent := int64(0)
	if err := h.Install(t.Context(), p, func(n int64) { sent = n }); err != nil {
		t.Fatal(err)
	}
	if facts, err = h.Look(t.Context()); err != nil || facts.Installed != p.Digest || sent != p.Size {
		t.Errorf("%d bytes of %d were sent; then it is known as %+v, %v", sent, p.Size, facts, err)
	}
	return h, home
}

func place(t *testing.T, host ssh.Host) *remote.Place {
	t.Helper()
	owner := make([]byte, 16)
	if _, err := rand.Read(owner); err != nil {
		t.Fatal(err)
	}
	p := remote.New(remote.Config{Name: "test", Owner: hex.EncodeToString(owner), Dialer: host.Dialer(slog.New(slog.NewTextHandler(t.Output(), nil)))})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// The whole suite, over ssh, with an agent that runs as another user.
func TestConformanceOverSSH(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Subject {
		h, home := installed(t, parts(t))
		p, data := place(t, h), filepath.Join(home, ssh.Folder, "data")
		folder := func(id machine.ID) string { return filepath.Join(data, "machines", string(id)) }
		return enginetest.Subject{
			Engine:      p,
			Checkpoints: p,
			Apart:       true,
			Disconnect:  func(box machine.Sandbox) { box.(machine.Disconnecter).Disconnect() },
			Processes:   func(t testing.TB, id machine.ID) map[string]int { return nativetest.Of(t, folder(id)) },
			Undialled:   func(t *testing.T) enginetest.Outside { return egresstest.Undialled(t) },
			Internet:    func(t *testing.T) enginetest.Outside { return egresstest.Internet(t) },
			Folder:      folder,
			Leftovers:   func(t testing.TB) []string { return nativetest.Supervised(t, data) },
		}
	})
}

// The folder goes with its last owner. Where there is no agent any more, a place says so.
func TestLeave(t *testing.T) {
	h, home := installed(t, light(t))
	owners := filepath.Join(home, ssh.Folder, "data", "owners")
	if err := os.MkdirAll(owners, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"aa", "bb"} {
		if err := os.WriteFile(filepath.Join(owners, owner), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	theirs, err := os.Stat(home)
	if err != nil {
		t.Fatal(err)
	}
	user := theirs.Sys().(*syscall.Stat_t)
	for _, path := range []string{filepath.Dir(owners), owners} {
		if err := os.Chown(path, int(user.Uid), int(user.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Leave(t.Context(), "aa"); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(owners); err != nil || len(left) != 1 {
		t.Errorf("the other owner's is gone, too: %v, %v", left, err)
	}
	if err := h.Leave(t.Context(), "bb"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(home, ssh.Folder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}
	if _, err := place(t, h).Used(); !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "is not at "+string(h)+" any more") {
		t.Errorf("without programs, it is told as %v", err)
	}
}

// The parts of the version before stay where machines may need them.
func TestAnUpdateKeepsParts(t *testing.T) {
	p := light(t)
	h, home := installed(t, p)
	bin := filepath.Join(home, ssh.Folder, "bin")
	if err := os.WriteFile(filepath.Join(bin, "runsc"), []byte("old"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := h.Install(t.Context(), p, nil); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("old"))
	kept := filepath.Join(home, ssh.Folder, "data", "parts", hex.EncodeToString(sum[:]), "runsc")
	if b, err := os.ReadFile(kept); err != nil || string(b) != "old" {
		t.Errorf("kept is %q, %v", b, err)
	}
	if same, _ := os.ReadDir(filepath.Join(home, ssh.Folder, "data", "parts")); len(same) != 1 {
		t.Errorf("the image is the same, and kept as well: %v", same)
	}
}

// What breaks off on the way leaves the place as it was.
func TestAnInstallationThatBreaksOff(t *testing.T) {
	p := light(t)
	h, home := installed(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	err := h.Install(ctx, p, func(sent int64) {
		if sent > p.Size/2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended as %v", err)
	}
	if facts, err := h.Look(t.Context()); err != nil || facts.Installed != p.Digest {
		t.Errorf("it is known as %+v, %v", facts, err)
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "-c", "sums")
	check.Dir = filepath.Join(home, ssh.Folder, "bin")
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("it is not what it was: %v\n%s", err, out)
	}
}

// What ssh refuses is told in words that help.
func TestRefusals(t *testing.T) {
	address, _ := sshtest.Stranger(t)
	for host, want := range map[ssh.Host]string{
		"nobody@127.0.0.1": "does not let you in", "no-such-computer.invalid": "No computer is called",
		ssh.Host(strings.Replace(address, "127.0.0.1", "localhost", 1)): "does not know",
	} {
		if _, err := host.Look(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, address := range []string{"", "-oProxyCommand=x", "a b", "a;b", "a'b", "a@-b", "$(x)"} {
		if _, err := ssh.Parse(address); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if h, err := ssh.Parse("me@big-computer.example"); err != nil || h != "me@big-computer.example" {
		t.Errorf("%s, %v", h, err)
	}
}

package store

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// withMachines opens a store that has machines of these names.
func withMachines(t *testing.T, path string, ids ...machine.ID) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it may be closed already
	err = s.WriteSync(t.Context(), func(w machine.Writer) error {
		for _, id := range ids {
			if err := w.PutMachine(machine.MachineRecord{Machine: machine.Machine{ID: id, Name: "name-" + string(id), CreatedAt: time.Now()}}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func copies(t *testing.T, path string) []Backup {
	t.Helper()
	all, err := Backups(path)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A copy from before a machine moved would look for it at the wrong place: another is made at once.
func TestAMoveIsCopiedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := withMachines(t, path, "a")
	start := time.Now()
	for i, engine := range []string{"", "ssh:far", "ssh:far"} {
		m := machine.MachineRecord{Machine: machine.Machine{ID: "a", Name: "name-a", Engine: engine, CreatedAt: start}}
		if err := s.WriteSync(t.Context(), func(w machine.Writer) error { return w.PutMachine(m) }); err != nil {
			t.Fatal(err)
		}
		if err := s.BackUp(t.Context(), start.Add(time.Duration(i)*time.Hour), math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		if got, want := len(copies(t, path)), min(i+1, 2); got != want {
			t.Errorf("after %d rounds there are %d copies, want %d", i+1, got, want)
		}
	}
}

// A copy is made each day; three stay, and none with what somebody has deleted for good.
func TestBackUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := withMachines(t, path, "a", "b")
	start := time.Now()
	for day := range 5 {
		for _, hour := range []int{0, 5} {
			if err := s.BackUp(t.Context(), start.Add(time.Duration(day*24+hour)*time.Hour), math.MaxInt64); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(copies(t, path)); got != min(day+1, backupsKept) {
			t.Errorf("day %d: there are %d copies", day, got)
		}
	}
	newest := copies(t, path)[0]
	if info, err := os.Stat(newest.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a copy is %v, %v", info, err)
	}
	if err := s.WriteSync(t.Context(), func(w machine.Writer) error { return w.RemoveMachine("b") }); err != nil {
		t.Fatal(err)
	}
	if err := s.BackUp(t.Context(), newest.Made.Add(time.Hour), math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	all := copies(t, path)
	if len(all) != 1 || !all[0].Made.After(newest.Made) {
		t.Errorf("after a purge there are %v", all)
	}
	if b, err := os.ReadFile(all[0].Path); err != nil || strings.Contains(string(b), "name-b") {
		t.Errorf("what was purged is in the copy, %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(all[0].Path), "*")); len(left) != 1 {
		t.Errorf("left are %q", left)
	}
}

// A database that is damaged takes the place of no good copy.
func TestDamagedIsNotCopied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := withMachines(t, path, "a", "b")
	now := time.Now()
	if err := s.BackUp(t.Context(), now, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	spoil(t, path, 4096) // when it is open: it would be found then
	if err := s.BackUp(t.Context(), now.Add(48*time.Hour), math.MaxInt64); !Damaged(err) {
		t.Errorf("copied: %v", err)
	}
	if got := copies(t, path); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
}

// Only what is damaged, or was deleted for good, leaves the copies: not what cannot be read just
// now. It does so on a full disk, too, where no copy is made.
func TestWhatLeavesTheCopies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := withMachines(t, path, "a", "b")
	now := time.Now().UTC()
	if err := s.BackUp(t.Context(), now, 100); err == nil || Damaged(err) || len(copies(t, path)) != 0 {
		t.Errorf("on a full disk: %v, %v", copies(t, path), err)
	}
	if err := s.BackUp(t.Context(), now, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	at := func(hours int) string {
		name := backupPrefix + now.Add(time.Duration(hours)*time.Hour).Format(backupTime) + backupSuffix
		return filepath.Join(filepath.Dir(path), backupsFolder, name)
	}
	unreadable, damaged := at(-1), at(-2) // a folder cannot be opened
	if err := errors.Join(os.Mkdir(unreadable, 0o700), os.WriteFile(damaged, []byte(strings.Repeat("rubbish", 100)), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 1} {
		if err := s.BackUp(t.Context(), now.Add(time.Hour), 100); err != nil {
			t.Errorf("%d are to stay: %v", want, err)
		}
		if got := copies(t, path); len(got) != want || got[want-1].Path != unreadable {
			t.Errorf("%d are to stay, there are %v", want, got)
		}
		if err := s.WriteSync(t.Context(), func(w machine.Writer) error { return w.RemoveMachine("b") }); err != nil {
			t.Fatal(err)
		}
	}
}

// An empty database, as it comes to be when a history is lost, takes the place of no copy.
func TestCopiesOutliveAnEmptyDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := withMachines(t, path, "a")
	now := time.Now()
	if err := s.WriteSync(t.Context(), func(w machine.Writer) error {
		return w.AddInstruction(machine.InstructionRecord{Instruction: machine.Instruction{Machine: "a", Status: machine.StatusOK, QueuedAt: now}})
	}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.BackUp(t.Context(), now, math.MaxInt64), s.Close(), removeAll(path)); err != nil {
		t.Fatal(err)
	}
	before := copies(t, path)
	for _, ids := range [][]machine.ID{nil, {"b"}} {
		s := withMachines(t, path, ids...)
		for day := range 2 {
			if err := s.BackUp(t.Context(), now.Add(time.Duration(day*25)*time.Hour), math.MaxInt64); err != nil {
				t.Fatal(err)
			}
		}
		if after := copies(t, path); len(before) != 1 || !slices.Contains(after, before[0]) {
			t.Errorf("with %v, of %v there are %v", ids, before, after)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// spoil overwrites a file from an offset on, but for its last bytes.
func spoil(t *testing.T, path string, from int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < int64(len(b)); i++ {
		b[i] ^= 0x55
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRecover(t *testing.T) {
	for what, hurt := range map[string]func(t *testing.T, path string){
		"missing": func(t *testing.T, path string) {
			if err := removeAll(path); err != nil {
				t.Fatal(err)
			}
		},
		"empty":     func(t *testing.T, path string) { _ = os.Truncate(path, 0) },
		"damaged":   func(t *testing.T, path string) { spoil(t, path, 0) },
		"truncated": func(t *testing.T, path string) { _ = os.Truncate(path, 5000) },
	} {
		for _, kept := range []bool{true, false} {
			t.Run(what, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "db")
				s := withMachines(t, path, "a")
				now := time.Now()
				if kept {
					if err := s.BackUp(t.Context(), now.Add(-time.Hour), math.MaxInt64); err != nil {
						t.Fatal(err)
					}
					// A newer copy that is damaged does not count.
					newer := filepath.Join(filepath.Dir(path), backupsFolder, backupPrefix+now.UTC().Format(backupTime)+backupSuffix)
					if err := os.WriteFile(newer, []byte("rubbish"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				hurt(t, path)
				before, _ := os.ReadFile(path)
				// A first try that fails changes nothing.
				stop := errors.New("stop")
				if _, _, err := Recover(t.Context(), path, func(*Store) error { return stop }); !errors.Is(err, stop) {
					t.Fatal(err)
				}
				if after, _ := os.ReadFile(path); string(after) != string(before) {
					t.Error("a try that fails changes the file")
				}
				from, aside, err := Recover(t.Context(), path, func(s *Store) error {
					return s.WriteSync(context.Background(), func(w machine.Writer) error {
						return w.PutMachine(machine.MachineRecord{Machine: machine.Machine{ID: "z", Name: "z", CreatedAt: now}})
					})
				})
				if err != nil || (from != nil) != kept || (aside == "") != (what == "missing") {
					t.Fatalf("of %v, the old one in %q, %v", from, aside, err)
				}
				if aside != "" {
					if b, err := os.ReadFile(aside); err != nil || string(b) != string(before) {
						t.Errorf("what was there has changed, %v", err)
					}
				}
				again, err := Open(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				defer again.Close()
				all, err := again.Machines(t.Context())
				want := 1
				if kept {
					want = 2
				}
				if err != nil || len(all) != want {
					t.Errorf("there are %+v, %v", all, err)
				}
				if left, _ := filepath.Glob(path + ".recovering*"); len(left) > 0 {
					t.Errorf("left are %q", left)
				}
			})
		}
	}
}

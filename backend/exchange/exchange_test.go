package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/exchange"
	"github.com/forevervm/desktop/backend/machine"
)

// inside is a machine's files in a folder of this computer: what the runner does with them is
// tested with the engines.
type inside struct {
	root string
	// names are told in place of what is there, as hostile code can.
	names map[string][]machine.FileEntry
	sent  int
}

func (in *inside) at(name string) string { return filepath.Join(in.root, filepath.FromSlash(name)) }

func wrong(err error) error {
	if err == nil {
		return nil
	}
	return &machine.Error{Kind: machine.ErrInvalid, Message: err.Error()}
}

func (in *inside) ReadFile(_ context.Context, name string, offset int64, length int) (machine.FileChunk, error) {
	data, err := os.ReadFile(in.at(name))
	if err != nil {
		return machine.FileChunk{}, wrong(err)
	}
	end := min(offset+int64(length), int64(len(data)))
	return machine.FileChunk{Data: data[min(offset, end):end], Size: int64(len(data)), EOF: end == int64(len(data))}, nil
}

func (in *inside) WriteFile(_ context.Context, p machine.FilePiece) error {
	if p.Offset != 0 || !p.Last {
		return errors.New("the test sends small files")
	}
	in.sent++
	to := in.at(p.Path)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	_ = os.Remove(to)
	if err := os.WriteFile(to, p.Data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, p.Modified, p.Modified)
}

func (in *inside) ListFiles(_ context.Context, name string, _ int) (list machine.FileList, err error) {
	if made, ok := in.names[name]; ok {
		return machine.FileList{Entries: made}, nil
	}
	entries, err := os.ReadDir(in.at(name))
	for _, e := range entries {
		info, _ := e.Info()
		kind := machine.FilePlain
		if e.IsDir() {
			kind = machine.FileFolder
		}
		list.Entries = append(list.Entries, machine.FileEntry{Name: e.Name(), Kind: kind, Size: info.Size(), Modified: info.ModTime()})
	}
	return list, wrong(err)
}

func (in *inside) StatFile(_ context.Context, name string) (machine.FileEntry, error) {
	info, err := os.Stat(in.at(name))
	if err != nil {
		return machine.FileEntry{}, wrong(err)
	}
	kind := machine.FilePlain
	if info.IsDir() {
		kind = machine.FileFolder
	}
	return machine.FileEntry{Name: info.Name(), Kind: kind, Size: info.Size(), Modified: info.ModTime()}, nil
}

func (in *inside) RemoveFile(_ context.Context, name string) error {
	return wrong(os.RemoveAll(in.at(name)))
}
func (in *inside) MakeFolder(_ context.Context, name string) error {
	return wrong(os.MkdirAll(in.at(name), 0o700))
}
func (in *inside) Disk(context.Context) (machine.Disk, error) { return machine.Disk{}, nil }

const id = machine.ID("0123456789abcdef")

type world struct {
	*testing.T
	folder *exchange.Folder
	path   string // of the person's folder
	notes  string
	in     *inside
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, path: filepath.Join(t.TempDir(), "ForeverVM"), notes: t.TempDir(), in: &inside{root: t.TempDir(), names: map[string][]machine.FileEntry{}}}
	w.open()
	return w
}

// open is what a new daemon does.
func (w *world) open() {
	w.Helper()
	folder, err := exchange.New(w.path, w.notes, slog.New(slog.DiscardHandler))
	if err != nil {
		w.Fatal(err)
	}
	w.folder = folder
}

func (w *world) write(name, content string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) fill() string {
	w.Helper()
	notice, err := w.folder.Fill(w.Context(), id, w.in)
	if err != nil {
		w.Fatal(err)
	}
	return notice
}

func (w *world) collect() string {
	w.Helper()
	notice, err := w.folder.Collect(w.Context(), machine.Machine{ID: id, Name: "brave-otter-42"}, w.in)
	if err != nil {
		w.Fatal(err)
	}
	return notice
}

// has compares the files under a folder, by name and content, "name=content". The guard of a
// machine's results is none of them.
func (w *world) has(dir string, want ...string) {
	w.Helper()
	var got []string
	_ = filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, name)
			data, _ := os.ReadFile(name)
			if e.Name() == ".git" && strings.HasPrefix(string(data), "ForeverVM keeps this file here") {
				return nil
			}
			got = append(got, filepath.ToSlash(rel)+"="+string(data))
		}
		return nil
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.Errorf("%s holds %q, not %q", dir, got, want)
	}
}

func TestTheInboxFollowsTheFolder(t *testing.T) {
	w := newWorld(t)
	inbox := w.in.at(exchange.Inbox)
	w.fill() // there is no folder yet
	w.has(inbox)
	w.write(filepath.Join(w.path, "a.csv"), "1")
	w.write(filepath.Join(w.path, "deep", "er", "b.csv"), "2")
	w.write(filepath.Join(w.path, exchange.Results, "other", "secret"), "of another machine")
	w.write(filepath.Join(w.path, "~$a.xlsx"), "lock")
	w.fill()
	w.has(inbox, "a.csv=1", "deep/er/b.csv=2")
	sent := w.in.sent
	w.open()
	w.fill()
	if w.in.sent != sent {
		t.Errorf("%d files were sent again", w.in.sent-sent)
	}
	// What code has made of it stays, as long as the person leaves theirs alone.
	w.write(filepath.Join(inbox, "a.csv"), "changed")
	w.write(filepath.Join(inbox, "own.csv"), "own")
	w.fill()
	w.has(inbox, "a.csv=changed", "deep/er/b.csv=2", "own.csv=own")
	w.write(filepath.Join(w.path, "a.csv"), "newer")
	if err := os.Remove(filepath.Join(w.path, "deep", "er", "b.csv")); err != nil {
		t.Fatal(err)
	}
	w.fill()
	w.has(inbox, "a.csv=newer", "own.csv=own")
	if data, _ := os.ReadFile(filepath.Join(w.path, "a.csv")); string(data) != "newer" {
		t.Errorf("the person's file is %q", data)
	}
	// The machine goes back to a state in which the file was an older one.
	info, err := os.Stat(filepath.Join(inbox, "a.csv"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.path, "a.csv"), "third")
	w.fill()
	w.write(filepath.Join(inbox, "a.csv"), "newer")
	if err := os.Chtimes(filepath.Join(inbox, "a.csv"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	w.fill()
	w.has(inbox, "a.csv=third", "own.csv=own")
}

func TestNothingLeadsOutOfTheFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and sockets are Unix's here")
	}
	w := newWorld(t)
	outside := t.TempDir()
	w.write(filepath.Join(outside, "id_rsa"), "secret")
	w.write(filepath.Join(w.path, "a.csv"), "1")
	for name, target := range map[string]string{"link": filepath.Join(outside, "id_rsa"), "folder": outside, "up": "..", "inner": "a.csv"} {
		if err := os.Symlink(target, filepath.Join(w.path, name)); err != nil {
			t.Fatal(err)
		}
	}
	short, err := os.MkdirTemp("", "s") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	listener, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := os.Rename(filepath.Join(short, "s"), filepath.Join(w.path, "docker.sock")); err != nil {
		t.Skip("the folders are on two disks:", err)
	}
	notice := w.fill()
	w.has(w.in.at(exchange.Inbox), "a.csv=1")
	for _, name := range []string{"link", "folder", "up", "docker.sock"} {
		if !strings.Contains(notice, name) {
			t.Errorf("nobody is told of %s: %s", name, notice)
		}
	}
}

// The AI is told to write there, and opens a file.
func TestTheOutboxIsThere(t *testing.T) {
	w := newWorld(t)
	w.fill()
	if err := os.WriteFile(filepath.Join(w.in.at(exchange.Outbox), "monthly.csv"), []byte("1"), 0o600); err != nil {
		t.Error(err)
	}
	// Code has put something else there: the inbox is filled all the same.
	if err := errors.Join(os.RemoveAll(w.in.at(exchange.Outbox)), os.WriteFile(w.in.at(exchange.Outbox), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.path, "a.csv"), "1")
	w.fill()
	w.has(w.in.at(exchange.Inbox), "a.csv=1")
}

func TestTheOutboxLands(t *testing.T) {
	w := newWorld(t)
	outbox, results := w.in.at(exchange.Outbox), filepath.Join(w.path, exchange.Results, "brave-otter-42")
	if notice := w.collect(); notice != "" {
		t.Error(notice)
	}
	w.has(w.path)
	w.write(filepath.Join(outbox, "report.csv"), "1")
	w.write(filepath.Join(outbox, "plots", "a.png"), "png")
	w.collect()
	w.has(results, "plots/a.png=png", "report.csv=1")
	// A newer one takes the place of what we brought, not of what the person has made of it.
	w.write(filepath.Join(outbox, "report.csv"), "2, longer")
	w.open()
	w.collect()
	w.has(results, "plots/a.png=png", "report.csv=2, longer")
	w.write(filepath.Join(results, "report.csv"), "the person's own words")
	w.collect()
	w.write(filepath.Join(outbox, "report.csv"), "number three")
	w.collect()
	w.has(results, "plots/a.png=png", "report (2).csv=number three", "report.csv=the person's own words")
	// What the machine removes, or is no more, stays with the person.
	if err := os.RemoveAll(outbox); err != nil {
		t.Fatal(err)
	}
	w.collect()
	w.folder.Forget(id)
	w.has(results, "plots/a.png=png", "report (2).csv=number three", "report.csv=the person's own words")
	w.has(w.notes)
	if w.folder.Concerns(id, "1+1") || !w.folder.Concerns(id, "open('/root/outbox/x', 'w')") {
		t.Error("what is forgotten concerns nobody until it is named")
	}
}

func TestHostileNamesStayInside(t *testing.T) {
	w := newWorld(t)
	w.write(w.in.at(path.Join(exchange.Outbox, "good")), "good")
	if err := os.MkdirAll(w.path, 0o700); err != nil {
		t.Fatal(err)
	}
	var made []machine.FileEntry
	for i, name := range []string{"../evil", "..", ".", "", "/etc/evil", "a/../../evil", "nul\x00", ".hidden", "good"} {
		made = append(made, machine.FileEntry{Name: name, Kind: machine.FilePlain, Size: 4, Modified: time.Unix(int64(i+1), 0)})
	}
	made = append(made, machine.FileEntry{Name: "..", Kind: machine.FileFolder}, machine.FileEntry{Name: "deep", Kind: machine.FileFolder})
	w.in.names[exchange.Outbox] = made
	w.in.names[path.Join(exchange.Outbox, "deep")] = []machine.FileEntry{{Name: "huge", Kind: machine.FilePlain, Size: 1 << 50, Modified: time.Unix(1, 0)}}
	notice := w.collect()
	w.has(w.path, exchange.Results+"/brave-otter-42/good=good")
	if !strings.Contains(notice, "huge") || !strings.Contains(notice, ".hidden") {
		t.Error(notice)
	}
	w.has(filepath.Dir(w.path), "ForeverVM/"+exchange.Results+"/brave-otter-42/good=good")

	// A link that somebody put among the results is not written through.
	if runtime.GOOS == "windows" {
		return
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(w.path, exchange.Results, "brave-otter-42", "plots")); err != nil {
		t.Fatal(err)
	}
	delete(w.in.names, exchange.Outbox)
	w.write(w.in.at(path.Join(exchange.Outbox, "plots", "x")), "x")
	if _, err := w.folder.Collect(t.Context(), machine.Machine{ID: id, Name: "brave-otter-42"}, w.in); err == nil {
		t.Error("a link was followed")
	}
	w.has(outside)
}

// Whatever somebody has put where results go, nothing is written through it, and no pipe or device
// is opened.
func TestResultsGoThroughNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and pipes are Unix's here")
	}
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	for what, c := range map[string]struct {
		make   func(w *world, results string) error
		beside bool // it comes all the same, under a name of its own
	}{
		"Results is a link": {func(w *world, _ string) error { return os.Symlink(outside, filepath.Join(w.path, exchange.Results)) }, false},
		"the machine's folder is a link": {func(w *world, results string) error {
			return errors.Join(os.Mkdir(filepath.Dir(results), 0o700), os.Symlink(outside, results))
		}, false},
		"it leads up": {func(w *world, results string) error {
			return errors.Join(os.Mkdir(filepath.Dir(results), 0o700), os.Symlink("../../..", results))
		}, false},
		"a folder in it is a link": {func(w *world, results string) error {
			return errors.Join(os.MkdirAll(results, 0o700), os.Symlink(outside, filepath.Join(results, "plots")))
		}, false},
		"a file is a link": {func(w *world, results string) error {
			return errors.Join(os.MkdirAll(filepath.Join(results, "plots"), 0o700), os.Symlink(victim, filepath.Join(results, "plots", "x.csv")))
		}, true},
		"a file is a link to nothing": {func(w *world, results string) error {
			return errors.Join(os.MkdirAll(filepath.Join(results, "plots"), 0o700), os.Symlink(filepath.Join(outside, "new"), filepath.Join(results, "plots", "x.csv")))
		}, true},
		"a file is a link to a device": {func(w *world, results string) error {
			return errors.Join(os.MkdirAll(filepath.Join(results, "plots"), 0o700), os.Symlink("/dev/full", filepath.Join(results, "plots", "x.csv")))
		}, true},
		"a file is a pipe": {func(w *world, results string) error {
			return errors.Join(os.MkdirAll(filepath.Join(results, "plots"), 0o700), exec.CommandContext(w.Context(), "mkfifo", filepath.Join(results, "plots", "x.csv")).Run())
		}, true},
		"a file is a folder": {func(w *world, results string) error {
			return os.MkdirAll(filepath.Join(results, "plots", "x.csv"), 0o700)
		}, true},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.write(victim, "mine")
			results := filepath.Join(w.path, exchange.Results, "brave-otter-42")
			if err := errors.Join(os.MkdirAll(w.path, 0o700), c.make(w, results)); err != nil {
				t.Fatal(err)
			}
			w.write(w.in.at(path.Join(exchange.Outbox, "plots", "x.csv")), "from the machine")
			told, err := w.folder.Collect(t.Context(), machine.Machine{ID: id, Name: "brave-otter-42"}, w.in)
			if (err == nil) != c.beside {
				t.Errorf("%q, %v", told, err)
			}
			w.has(outside, "victim=mine")
			if data, err := os.ReadFile(filepath.Join(results, "plots", "x (2).csv")); c.beside && string(data) != "from the machine" {
				t.Errorf("beside it is %q, %v", data, err)
			}
		})
	}
}

// What is no file in a machine does not come out of it: no link is followed, no device or pipe is
// read.
func TestOnlyFilesComeOut(t *testing.T) {
	w := newWorld(t)
	w.write(w.in.at(path.Join(exchange.Outbox, "good")), "good")
	made := []machine.FileEntry{{Name: "good", Kind: machine.FilePlain, Size: 4, Modified: time.Unix(1, 0)}}
	for _, kind := range []machine.FileKind{machine.FileLink, machine.FileOther, "device", ""} {
		name := "a " + string(kind)
		w.write(w.in.at(path.Join(exchange.Outbox, name)), "oops")
		made = append(made, machine.FileEntry{Name: name, Kind: kind, Size: 4, Modified: time.Unix(1, 0)})
	}
	w.in.names[exchange.Outbox] = made
	w.collect()
	w.has(w.path, exchange.Results+"/brave-otter-42/good=good")
}

func TestTooMuchIsLeftOut(t *testing.T) {
	w := newWorld(t)
	for i := range 2100 {
		w.write(filepath.Join(w.path, fmt.Sprintf("%04d", i)), "")
	}
	if notice := w.fill(); !strings.Contains(notice, "2,000 files") || w.in.sent != 2000 {
		t.Errorf("%d files were sent: %s", w.in.sent, notice)
	}
}

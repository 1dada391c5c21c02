package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/forevervm/desktop/backend/machine"
)

// Bounds of a look into a shared folder. The person is told where one does not see the whole.
const (
	maxSeen  = 50_000   // files and folders; those near the top come first
	maxDeep  = 32       // folders in folders
	maxFound = 2000     // files that programs act on
	maxRead  = 1 << 20  // bytes of one file; a change behind them is not seen
	maxBytes = 64 << 20 // bytes of all files
)

// Shares watches folders that code in machines may change. It implements machine.ShareWatch.
//
// It does not keep code from writing there: the person wants it to. It tells them which files came
// up or changed that some program acts on (see actors), so that they look first. It does not know
// who made a change, as people work in such folders, too. It does not judge source code, builds or
// tests. And a program may act before the person reads.
type Shares struct {
	notes string // the folder of what is known of each machine's shared folder
	log   *slog.Logger
}

// shareNote is what is known of the folder that a machine may change.
type shareNote struct {
	Folder string `json:"folder"`
	// Known are the files that programs act on, with a digest of each, as they were at the last
	// look. It is nil while the machine cannot change the folder.
	Known map[string]string `json:"known"`
	// Told are those that came up or changed since the folder was shared.
	Told []string `json:"told"`
	// Partly says that the last look did not see the whole folder, which the person was told.
	Partly bool `json:"partly"`
}

// cameUp tells a person of files that came up or changed.
func cameUp(names []string) string {
	return left("In the folder that this machine may change, there came up or changed",
		"programs on your computer, like git, editors or AI apps, act on such files automatically. "+
			"If you did not want that, look at them before you work in the folder.", names)
}

const seenPartly = "The folder that this machine may change is too large for ForeverVM to tell you of every file in it " +
	"that programs on your computer act on automatically. Share a smaller one."

// NewShares returns Shares that keep what they know in the folder notes.
func NewShares(notes string, log *slog.Logger) (*Shares, error) {
	_, err := openNotes(notes)
	return &Shares{notes: notes, log: log}, err
}

// Look implements machine.ShareWatch.
func (s *Shares) Look(ctx context.Context, id machine.ID, folder string, last bool) (news, all string, err error) {
	var note shareNote
	if err := readNote(s.notes, id, &note); err != nil {
		s.log.Warn("what is known of a shared folder is lost", "machine", id, "err", err)
	}
	if note.Folder != folder {
		note = shareNote{Folder: folder}
	}
	found, whole, err := look(ctx, folder)
	switch {
	case errors.Is(err, fs.ErrNotExist): // its disk is not connected, and the machine does not see it either
	case err != nil:
		return "", cameUp(note.Told), err
	default:
		fresh := changed(note.Known, found)
		for _, name := range fresh {
			if !slices.Contains(note.Told, name) && len(note.Told) < maxFound {
				note.Told = append(note.Told, name)
			}
		}
		news = cameUp(fresh)
		if !whole && !note.Partly {
			news = both(news, seenPartly)
		}
		if note.Known != nil && maps.Equal(note.Known, found) && note.Partly == !whole && !last {
			return news, cameUp(note.Told), nil // nothing to write
		}
		note.Known, note.Partly = found, !whole
	}
	if last {
		note.Known = nil // from now on, others change the folder
	}
	return news, cameUp(note.Told), writeNote(s.notes, id, note)
}

// Forget implements machine.ShareWatch.
func (s *Shares) Forget(id machine.ID) {
	if err := os.Remove(noteFile(s.notes, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("what is known of a shared folder is not forgotten", "machine", id, "err", err)
	}
}

// changed returns the names that are new or have another digest. Of a new folder it returns nothing
// but the folder. Before the first look everything counts as known.
func changed(before, now map[string]string) (names []string) {
	if before == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, ok := before[name]; ok && was == now[name] {
			continue
		}
		if slices.ContainsFunc(names, func(folder string) bool { return strings.HasPrefix(name, folder+"/") }) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// look returns the files in a folder that programs act on, with a digest of each, and whether it
// saw the whole folder. It follows no link and opens no pipe.
func look(ctx context.Context, folder string) (found map[string]string, whole bool, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	l := looker{root: root, found: map[string]string{}, left: maxSeen, bytes: maxBytes, whole: true, next: []within{{dir: "."}}}
	for len(l.next) > 0 && l.left > 0 && ctx.Err() == nil {
		at := l.next[0]
		l.next = l.next[1:]
		l.folder(at)
	}
	return l.found, l.whole && l.left > 0, ctx.Err()
}

// looker is one look.
type looker struct {
	root  *os.Root
	found map[string]string
	left  int      // entries that may still be seen
	bytes int64    // that may still be read
	whole bool     // nothing was left out, but for want of left
	next  []within // folders to look into, those near the top first
}

// within is a folder to look into.
type within struct {
	dir   string
	depth int
	// Of a folder that lies in one that some program acts on: which one, and which files matter.
	actor   string
	matters []string
}

// folder looks at what is in one folder.
func (l *looker) folder(at within) {
	dir, err := l.root.Open(at.dir)
	if err != nil {
		return
	}
	entries, _ := dir.ReadDir(l.left)
	dir.Close()
	l.left -= len(entries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	repository := at.actor == "" && isRepository(entries)
	if repository {
		l.found[at.dir] = "a repository"
	}
	for _, e := range entries {
		name := path.Join(at.dir, e.Name())
		below := within{dir: name, depth: at.depth + 1, actor: at.actor, matters: at.matters}
		a := acts(e.Name(), e.IsDir())
		switch {
		case at.actor != "":
			if !e.IsDir() && matters(at.matters, strings.TrimPrefix(name, at.actor+"/")) {
				l.note(name, e)
			}
		case repository && slices.Contains(gitActs, fold(e.Name())):
			l.note(name, e)
			below.actor = name
		case repository && slices.Contains(gitKeeps, fold(e.Name())):
			continue
		case a != nil && a.pattern == ".git": // below it is a repository, or nothing to git
			l.note(name, e)
		case a != nil && a.pattern != "head":
			l.note(name, e)
			below.actor, below.matters = name, a.matters
		}
		switch {
		case !e.IsDir():
		case below.depth <= maxDeep:
			l.next = append(l.next, below)
		default:
			l.whole = false
		}
	}
}

var (
	// gitActs name the programs that git runs in a repository, or lead to what does.
	gitActs = []string{"config", "config.worktree", "commondir", "hooks"}
	// gitKeeps are folders in a repository that git changes all the time and runs nothing of.
	gitKeeps = []string{"objects", "refs", "logs", "lfs"}
)

// isRepository says whether git takes a folder for a repository: a `.git`, a bare one, a
// submodule's or a worktree's. See "head" in actors.
func isRepository(entries []fs.DirEntry) bool {
	has := func(want string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return fold(e.Name()) == want })
	}
	return has("head") && (has("objects") && has("refs") || has("commondir"))
}

// note adds what is found, with a digest of a file and where a link leads to.
func (l *looker) note(name string, e fs.DirEntry) {
	switch {
	case len(l.found) >= maxFound:
		l.whole = false
	case e.IsDir():
		l.found[name] = "a folder"
	case e.Type() == fs.ModeSymlink:
		target, _ := l.root.Readlink(name)
		l.found[name] = "a link to " + target
	case e.Type().IsRegular() && !strings.HasSuffix(name, ".sample"): // git's examples of hooks, which it never runs
		l.found[name] = l.digest(name)
	}
}

func (l *looker) digest(name string) string {
	// Should it have become a pipe since, nothing waits for its other end.
	file, err := l.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	hash := sha256.New()
	n, _ := io.Copy(hash, io.LimitReader(file, min(maxRead, l.bytes)))
	if l.bytes -= n; l.bytes == 0 {
		l.whole = false
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// matters says whether a file in a folder that some program acts on is one of those that make it.
func matters(patterns []string, name string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, strings.ToLower(name))
		return ok
	})
}

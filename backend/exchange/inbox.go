package exchange

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
)

// Fill makes a machine's inbox what the folder holds. A file that code has changed or made there
// stays, until the person changes theirs.
func (f *Folder) Fill(ctx context.Context, id machine.ID, files machine.Files) (notice string, err error) {
	p := f.peer(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	root, err := os.OpenRoot(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		root = nil
	} else if err != nil {
		return "", err
	} else {
		defer root.Close()
	}
	var own shelf
	if root != nil {
		own.look(root, ".", 0)
	}
	there, err := inside(ctx, files, Inbox, nil)
	if err != nil {
		return "", err
	}
	if there == nil {
		if err := files.MakeFolder(ctx, Inbox); err != nil {
			return "", err
		}
	}
	// Code that is told to write there opens a file; it does not make folders first.
	if err := files.MakeFolder(ctx, Outbox); err != nil && ctx.Err() == nil {
		f.log.Warn("a machine has no outbox", "machine", id, "err", err) // code may have put something else there
	}
	var linked []string
	for _, name := range own.names {
		want := own.files[name]
		have, ok := there[name]
		past := p.note.Carried[name]
		if ok && have == want || ok && slices.Contains(past, want) && !slices.Contains(past, have) {
			continue
		}
		sent, err := carry(ctx, root, name, files)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just gone
		}
		if errors.Is(err, errLinked) {
			linked = append(linked, name)
			continue
		}
		if err != nil {
			return "", errors.Join(err, f.keep(id, p))
		}
		past = append(slices.DeleteFunc(past, func(m mark) bool { return m == sent }), sent)
		p.note.Carried[name] = past[max(0, len(past)-maxPast):]
	}
	for name, past := range p.note.Carried {
		if _, ok := own.files[name]; ok {
			continue
		}
		if have, ok := there[name]; ok && slices.Contains(past, have) {
			if err := files.RemoveFile(ctx, path.Join(Inbox, name)); err != nil {
				return "", errors.Join(err, f.keep(id, p))
			}
		}
		delete(p.note.Carried, name)
	}
	notice = both(both(
		left("The inbox does not hold", "it takes 2 GB and 2,000 files at most.", own.tooMuch),
		left("The inbox does not hold", "these names or files cannot be brought into a machine.", own.odd)),
		left("The inbox does not hold", "each is also a file somewhere else on this disk (a hard link), perhaps one that is not for machines. Put a copy into the folder instead.", linked),
	)
	return notice, f.keep(id, p)
}

// errLinked says that a file has more than one name. Another may lie in a place that is not for
// machines: a program that cannot read a file can still link it into the folder.
var errLinked = errors.New("the file has another name")

// carry brings one file into the inbox, and returns which version that was.
func carry(ctx context.Context, root *os.Root, name string, files machine.Files) (mark, error) {
	// Should it have become a pipe since, nothing waits for its other end.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return mark{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return mark{}, err
	}
	if !info.Mode().IsRegular() {
		return mark{}, fs.ErrNotExist
	}
	if n, err := links(file); err != nil {
		return mark{}, err
	} else if n > 1 {
		return mark{}, errLinked
	}
	version := markOf(info)
	_, err = machine.Send(ctx, files, machine.FilePiece{
		Path: path.Join(Inbox, name), Modified: time.Unix(0, version.Modified), ReadOnly: true,
	}, io.LimitReader(file, version.Size))
	return version, err
}

func markOf(info fs.FileInfo) mark { return mark{info.Size(), info.ModTime().UnixNano()} }

// shelf is what the person's folder holds for machines.
type shelf struct {
	names   []string // with slashes
	files   map[string]mark
	tooMuch []string
	odd     []string

	seen  int
	bytes int64
}

// look adds what is in a folder. What cannot be read is as if it were not there.
func (s *shelf) look(root *os.Root, dir string, depth int) {
	if s.files == nil {
		s.files = map[string]mark{}
	}
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if passing(e.Name()) || dir == "." && strings.EqualFold(e.Name(), Results) {
			continue
		}
		s.seen++
		info, err := root.Lstat(name)
		switch {
		case err != nil:
		case !utf8.ValidString(name), info.Mode()&(fs.ModeSymlink|fs.ModeIrregular|fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0:
			s.odd = append(s.odd, name)
		case s.seen > maxNames:
			s.tooMuch = append(s.tooMuch, name)
			return
		case info.IsDir():
			if depth < maxDepth {
				s.look(root, name, depth+1)
			} else {
				s.tooMuch = append(s.tooMuch, name)
			}
		case s.bytes+info.Size() > maxInbox:
			s.tooMuch = append(s.tooMuch, name)
		default:
			s.bytes += info.Size()
			s.names = append(s.names, name)
			s.files[name] = markOf(info)
		}
	}
}

// passing says whether a name is a system's or a program's own, or one of a file that is still
// being written.
func passing(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$") || lower == "desktop.ini" || lower == "thumbs.db" ||
		strings.HasSuffix(lower, ".part") || strings.HasSuffix(lower, ".crdownload") || strings.HasSuffix(lower, ".download")
}

// inside lists the plain files under a folder of a machine; nil where there is no such folder.
// Names are as the machine tells them. It leaves out what skip returns true for, with all that is
// in it. skip may be nil.
func inside(ctx context.Context, files machine.Files, folder string, skip func(name string, folder bool) bool) (map[string]mark, error) {
	if found, err := files.StatFile(ctx, folder); err != nil || found.Kind != machine.FileFolder {
		if err != nil && !errors.Is(err, machine.ErrInvalid) {
			return nil, err
		}
		return nil, nil
	}
	out := map[string]mark{}
	seen := 0
	var look func(dir string, depth int) error
	look = func(dir string, depth int) error {
		list, err := files.ListFiles(ctx, path.Join(folder, dir), maxNames)
		if err != nil {
			return err
		}
		for _, e := range list.Entries {
			if seen++; seen > 2*maxNames {
				return nil
			}
			name := path.Join(dir, e.Name)
			switch {
			case strings.Contains(e.Name, "/") || e.Name == "" || e.Name == "." || e.Name == "..":
			case skip != nil && (e.Kind == machine.FilePlain || e.Kind == machine.FileFolder) && skip(name, e.Kind == machine.FileFolder):
			case e.Kind == machine.FilePlain:
				at := int64(0)
				if !e.Modified.IsZero() {
					at = e.Modified.UnixNano()
				}
				out[name] = mark{e.Size, at}
			case e.Kind == machine.FileFolder && depth < maxDepth:
				if err := look(name, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return out, look("", 0)
}

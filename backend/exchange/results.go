package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/forevervm/desktop/backend/machine"
)

// This file is about the folders in Results: one for each machine, named after its title.

// maxFolderName is in characters. Windows allows 260 for a whole path.
const maxFolderName = 60

// folderNames are the names for a machine's folder, the best first. Two machines may have one
// title, so the second is the machine's name beside it. Models choose titles too: what is refused
// of a file is refused here. Dots go, as macOS runs a folder called x.app.
func folderNames(m machine.Machine) []string {
	title := strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`<>:"/\|?*.`, r):
			return '-'
		case unicode.IsPrint(r):
			return r
		}
		return ' '
	}, m.Title)
	if short := []rune(title); len(short) > maxFolderName {
		title = string(short[:maxFolderName])
	}
	title = strings.Join(strings.Fields(strings.TrimLeft(title, "- ")), " ")
	if _, err := filepath.Localize(title); title == "" || err != nil || refuse(title, true) != "" {
		return []string{m.Name}
	}
	return []string{title, title + " (" + m.Name + ")"}
}

// openResults opens the machine's folder in Results. It makes the folder where it is missing, and
// renames it after the machine got another title. p.mu is held.
func (f *Folder) openResults(m machine.Machine, p *peer) (*os.Root, error) {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return nil, err
	}
	top, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	if err := top.MkdirAll(Results, 0o700); err != nil {
		return nil, err
	}
	root, err := top.OpenRoot(Results)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := nameFolder(root, m, p.folder(m.Name))
	if err != nil {
		return nil, err
	}
	if name != p.note.Folder {
		p.note.Folder = name
		if err := f.keep(m.ID, p); err != nil {
			return nil, err
		}
	}
	folder, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if err := keepGitOut(folder); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

// folder is the folder that the machine had; "" for none. Earlier versions did not write it down:
// it was the machine's name.
func (p *peer) folder(name string) string {
	if p.note.Folder == "" && len(p.note.Brought) > 0 {
		return name
	}
	return p.note.Folder
}

// nameFolder returns the name of the machine's folder, which is there then. had is the one it had.
func nameFolder(root *os.Root, m machine.Machine, had string) (string, error) {
	names := folderNames(m)
	there := had != "" && isFolder(root, had)
	if there && slices.Contains(names, had) {
		return had, nil
	}
	for _, name := range names {
		switch err := root.Mkdir(name, 0o700); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return "", err
		case !there:
			return name, nil
		}
		// Windows renames no folder that a program uses. The machine then keeps the one it had.
		if errors.Join(root.Remove(name), root.Rename(had, name)) == nil {
			return name, nil
		}
		return had, nil
	}
	if there {
		return had, nil
	}
	// A machine that is no more, or a person, left this folder.
	last := names[len(names)-1]
	if !isFolder(root, last) {
		return "", fmt.Errorf("%s in %s is not a folder", last, Results)
	}
	return last, nil
}

func isFolder(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	return err == nil && info.IsDir()
}

// Results returns the path of the folder that holds the machine's results; "" where there is none.
func (f *Folder) Results(m machine.Machine) string {
	f.mu.Lock()
	p := f.peers[m.ID]
	f.mu.Unlock()
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	had := p.folder(m.Name)
	if had == "" {
		return ""
	}
	path := filepath.Join(f.path, Results, had)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return ""
	}
	return path
}

// guard is the file `.git` in a machine's results. It does not begin with "gitdir:", so git ends
// with "invalid gitfile format" and names the file.
const guard = `ForeverVM keeps this file here so that git does not take a machine's files for a repository. A
repository names programs that git runs on your computer. To use git with these files, copy those
that you know into another folder.
`

// keepGitOut has git end with an error in a machine's results and in the folders below. names.go
// keeps repositories out; this is the second line, should a repository come in at the top. Folders
// below have no guard of their own: people copy them, and would copy the guard along. A person who
// keeps their documents in git meets the error only inside this folder. In the folders above, git
// works and adds these files like any others. A .git that is there already stays.
func keepGitOut(folder *os.Root) error {
	file, err := folder.OpenFile(".git", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(guard)
	return errors.Join(err, file.Close())
}

// weigh is how many bytes lie in a folder.
func weigh(root *os.Root) (n int64) {
	_ = fs.WalkDir(root.FS(), ".", func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

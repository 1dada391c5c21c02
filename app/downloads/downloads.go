// Package downloads puts what the page saves into the person's folder for downloads: the window's
// web view, unlike a browser, does not do so itself.
package downloads

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Downloads are files that are being saved. All methods may be called from any goroutine.
type Downloads struct {
	folder string

	mu   sync.Mutex
	last int
	open map[int]*file
}

type file struct {
	*os.File        // under another name, so that nobody takes a part for the whole
	name     string // what it is to be called, if nothing else is called so
}

// Into returns what saves into a folder, which is made when it is needed.
func Into(folder string) *Downloads { return &Downloads{folder: folder, open: map[int]*file{}} }

// unfinished is the end of the names of what is not saved whole yet.
const unfinished = ".part"

// Begin begins a file, and returns a number for it.
func (d *Downloads) Begin(name string) (id int, err error) {
	name, err = plain(name)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(d.folder, 0o755); err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(d.folder, "."+name+"-*"+unfinished)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	d.open[d.last] = &file{f, name}
	return d.last, nil
}

// Append adds to a file that was begun. After an error the file is gone.
func (d *Downloads) Append(id int, part []byte) error {
	d.mu.Lock()
	f := d.open[id]
	d.mu.Unlock()
	if f == nil {
		return fs.ErrClosed
	}
	if _, err := f.Write(part); err != nil {
		return errors.Join(err, d.Cancel(id))
	}
	return nil
}

// Finish gives a file its name, or, where there is one of that name, the next that is free, and
// returns its path.
func (d *Downloads) Finish(id int) (path string, err error) {
	f := d.take(id)
	if f == nil {
		return "", fs.ErrClosed
	}
	temporary := f.Name()
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary))
		}
	}()
	if err := f.Close(); err != nil {
		return "", err
	}
	stem, ending := f.name, filepath.Ext(f.name)
	stem = strings.TrimSuffix(stem, ending)
	for n := 1; ; n++ {
		path = filepath.Join(d.folder, f.name)
		if n > 1 {
			path = filepath.Join(d.folder, fmt.Sprintf("%s (%d)%s", stem, n, ending))
		}
		// Takes the name, unlike a rename, only where nobody has it.
		taken, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		info, err := taken.Stat() // who may read it is as the person has it for new files
		if err == nil {
			err = os.Chmod(temporary, info.Mode().Perm())
		}
		if err := errors.Join(err, taken.Close()); err != nil {
			return "", errors.Join(err, os.Remove(path))
		}
		if err := os.Rename(temporary, path); err != nil {
			return "", errors.Join(err, os.Remove(path))
		}
		return path, nil
	}
}

// Cancel removes a file that was begun.
func (d *Downloads) Cancel(id int) error {
	f := d.take(id)
	if f == nil {
		return nil
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Close removes all that is not finished.
func (d *Downloads) Close() error {
	d.mu.Lock()
	var all []int
	for id := range d.open {
		all = append(all, id)
	}
	d.mu.Unlock()
	var err error
	for _, id := range all {
		err = errors.Join(err, d.Cancel(id))
	}
	return err
}

func (d *Downloads) take(id int) *file {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.open[id]
	delete(d.open, id)
	return f
}

// device matches what Windows takes for one, whatever follows.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d) *$`)

// longest is how many bytes of a name are kept.
const longest = 150

// plain makes a name of what a machine may have called it: no path, nothing hidden, nothing that
// Windows refuses.
func plain(name string) (string, error) {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if name = strings.Trim(name, ". "); name == "" {
		return "", errors.New("a file needs a name")
	}
	ending := filepath.Ext(name)
	if len(ending) > 20 {
		ending = ""
	}
	if len(name) > longest {
		name = strings.TrimRight(strings.ToValidUTF8(name[:longest-len(ending)], "")+ending, ". ")
	}
	if stem, _, _ := strings.Cut(name, "."); device.MatchString(stem) {
		name = "_" + name
	}
	return name, nil
}

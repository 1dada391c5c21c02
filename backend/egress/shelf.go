package egress

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// shelf is a folder of this computer with packages that machines have installed. Files have the
// digests of their contents as names, so nothing but what a digest stands for is ever found under
// it; who is to trust a digest is the caller's affair. Beside them lie the lists of files that the
// index gave for each project. All of it may be removed at any time.
type shelf struct {
	dir  string
	room int64 // bytes of everything; what was not used for longest goes

	mu sync.Mutex // held while there is made room
}

// partial is the end of the names of what is still being written.
const partial = ".part"

// newShelf opens a shelf, and makes its folder.
func newShelf(dir string, room int64) (*shelf, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	halves, err := filepath.Glob(filepath.Join(dir, "*"+partial)) // of a daemon that died
	for _, half := range halves {
		_ = os.Remove(half)
	}
	return &shelf{dir: dir, room: room}, err
}

// open opens what is kept under a name, which counts as use of it.
func (s *shelf) open(name string) (*os.File, error) {
	file, err := os.Open(filepath.Join(s.dir, name))
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(file.Name(), now, now) // else it goes sooner
	}
	return file, err
}

// has says whether something is kept under a name.
func (s *shelf) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// incoming is a file on its way to the shelf. Either keep or drop it.
type incoming struct {
	shelf *shelf
	file  *os.File
	sum   hash.Hash
}

func (s *shelf) begin() (*incoming, error) {
	file, err := os.CreateTemp(s.dir, "*"+partial) // for the user alone
	if err != nil {
		return nil, err
	}
	return &incoming{s, file, sha256.New()}, nil
}

func (i *incoming) Write(b []byte) (int, error) {
	i.sum.Write(b)
	return i.file.Write(b)
}

// digest is that of what was written so far.
func (i *incoming) digest() string { return hex.EncodeToString(i.sum.Sum(nil)) }

// keep puts it on the shelf, so that half of it is never found there, even after a power cut.
func (i *incoming) keep(name string) error {
	return i.place(name, errors.Join(i.file.Sync(), i.file.Close()))
}

func (i *incoming) place(name string, err error) error {
	if err == nil {
		err = os.Rename(i.file.Name(), filepath.Join(i.shelf.dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(i.file.Name()))
	}
	return i.shelf.tidy()
}

func (i *incoming) drop() {
	i.file.Close()
	_ = os.Remove(i.file.Name())
}

// tidy makes room.
func (s *shelf) tidy() error { return s.shrinkTo(s.room) }

// shrinkTo removes what was not used for longest until so many bytes are left.
func (s *shelf) shrinkTo(room int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var total int64
	var files []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !strings.HasSuffix(e.Name(), partial) {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= room {
			break
		}
		if err := os.Remove(filepath.Join(s.dir, f.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		total -= f.Size()
	}
	return nil
}

// listing is what the index said of a project.
type listing struct {
	tag  string // by which the index knows it again
	body []byte // JSON
}

func listingName(project string) string { return project + ".json" }

func (s *shelf) listing(project string) (l listing, ok bool) {
	file, err := s.open(listingName(project))
	if err != nil {
		return l, false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxListing+maxHeader))
	head, body, found := bytes.Cut(data, []byte("\n"))
	if err != nil || !found || json.Unmarshal(head, &l.tag) != nil {
		return l, false
	}
	l.body = body
	return l, true
}

func (s *shelf) keepListing(project string, l listing) error {
	head, err := json.Marshal(l.tag)
	if err != nil {
		return err
	}
	file, err := s.begin()
	if err != nil {
		return err
	}
	if _, err := file.Write(slices.Concat(head, []byte("\n"), l.body)); err != nil {
		file.drop()
		return err
	}
	// What a power cut leaves of it is no JSON any more, and so not believed.
	return file.place(listingName(project), file.file.Close())
}

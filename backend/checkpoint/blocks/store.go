// Package blocks keeps files by content: what many of them have in common lies on the disk once.
//
// A file is cut into blocks of a page each, every block is named by its BLAKE3, and what is new of
// them is compressed and appended to a pack. What a group of files is made of is a recipe, a small
// file that lies wherever its owner wants it; deleting it is all that it takes to delete the files.
// Collect then gives back the room of the blocks that no recipe needs. ../FORMAT.md is normative.
//
// Nothing is visible before it is durable: packs and recipes are written under another name, synced
// and renamed, a recipe after all packs that it needs. So whatever is cut off leaves a store that
// is as before, and rubbish that the next Collect sweeps.
//
// Several processes may use a store at once. Anyone who puts, restores or copies holds its lock
// shared, for that long; only the moment in which packs are deleted takes it for itself.
package blocks

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"lukechampine.com/blake3"
	"lukechampine.com/blake3/guts"
)

// Unit is how many bytes a block has, but for the last one of a file: a page, which is what a
// program changes of its memory at least. FORMAT.md says why no larger one.
const Unit = 4096

// ID names a block: its BLAKE3.
type ID [32]byte

// atOnce is what the hash looks at in one go: of what lies behind a page it takes no notice.
type atOnce = [guts.MaxSIMD * guts.ChunkSize]byte

// idOf hashes a page on its own: Sum256 starts goroutines for anything above a kilobyte, which take
// longer than the page, and take it to a processor that the caller may have left to others.
func idOf(b []byte) ID {
	switch {
	case len(b) != Unit:
		return blake3.Sum256(b)
	case cap(b) < len(atOnce{}):
		var room atOnce
		copy(room[:], b)
		return idOfPage(&room)
	}
	return idOfPage((*atOnce)(b[:len(atOnce{})]))
}

func idOfPage(b *atOnce) ID {
	root := guts.CompressBuffer(b, Unit, &guts.IV, 0, 0)
	root.Flags |= guts.FlagRoot
	sum := guts.WordsToBytes(guts.CompressNode(root))
	return ID(sum[:len(ID{})])
}

func (id ID) String() string { return hex.EncodeToString(id[:8]) }

var (
	// ErrDamaged marks what cannot be given back as it was put: bytes have changed, or are gone.
	ErrDamaged = errors.New("damaged")
	// ErrVersion marks what a newer program has written. It is whole as far as can be told, and
	// stays as it is.
	ErrVersion = errors.New("made by a newer ForeverVM")
)

// unreadable is the error of a file that the system does not give back, which may pass. Who wants
// it takes it for damaged; who repairs leaves it alone.
type unreadable struct {
	what string
	err  error
}

func (u *unreadable) Error() string   { return fmt.Sprintf("%s cannot be read: %v", u.what, u.err) }
func (u *unreadable) Unwrap() error   { return u.err }
func (u *unreadable) Is(e error) bool { return e == ErrDamaged }

// refused makes of why a file could not be opened or read what it means for the file: that we are
// short of something ourselves, or that it is not there, is no fault of it.
func refused(what string, err error) error {
	for _, ours := range []error{fs.ErrNotExist, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, ours) {
			return err
		}
	}
	return &unreadable{what, err}
}

// stays says whether an error is of a file that is to stay as it is: another day, or another
// program, may read it.
func stays(err error) bool {
	var u *unreadable
	return errors.Is(err, ErrVersion) || errors.As(err, &u)
}

// Store is a folder of packs. All methods may be called from any goroutine.
type Store struct {
	dir     string
	recipes func() ([]string, error)
	disk    disk
	rush    rush
	small   int64 // how large a file is that becomes a frame, at most

	mu     sync.Mutex       // guards what follows
	index  *index           // nil until it is needed
	packs  map[string]*pack // those in the index, by name
	broken map[string]error // packs whose index cannot be read, and why
	forget *time.Timer      // drops the index when nobody has used it for a while
	used   int              // by how many it is in use
}

// keepIndex is how long the index stays in memory after its last use: it takes some 70 bytes a
// block.
const keepIndex = time.Minute

// Open returns the store in the folder dir, which is made when something is put. recipes tells
// where every recipe lies that refers to it, as what none of them needs is collected.
func Open(dir string, recipes func() ([]string, error)) *Store {
	return &Store{dir: dir, recipes: recipes, disk: osDisk{}, small: mostFrame}
}

const (
	packSuffix = ".pack"
	// asideSuffix is the end of the names of packs that were damaged, and have been rewritten.
	asideSuffix = packSuffix + ".damaged"
	// unfinished is the end of names of what is being written; it is rubbish unless its writer, who
	// holds the lock, is alive.
	unfinished = ".partial"
)

// drop lets go of the index.
func (s *Store) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == 0 {
		s.index, s.packs, s.broken = nil, nil, nil
	}
}

// refresh brings the index up to date with the packs that there are. The lock is held.
func (s *Store) refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), packSuffix); ok && e.Type().IsRegular() {
			there[name] = true
		}
	}
	if s.index == nil {
		s.index, s.packs = newIndex(), map[string]*pack{}
	}
	var gone []*pack // somebody has collected
	for name, p := range s.packs {
		if !there[name] {
			gone = append(gone, p)
			delete(s.packs, name)
		}
	}
	s.index.remove(gone, s.packs)
	s.broken = map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if s.packs[name] != nil {
			continue
		}
		p, err := openPack(s.disk, s.dir, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, ErrDamaged), errors.Is(err, ErrVersion): // it concerns those alone who need something of it
			s.broken[name] = err
		case err != nil:
			return err
		default:
			s.add(p)
		}
	}
	return nil
}

// add makes a pack's blocks known. mu is held.
func (s *Store) add(p *pack) {
	if s.packs[p.name] != nil { // somebody has found it meanwhile, and the index tells of that one
		return
	}
	s.packs[p.name] = p
	s.index.add(p)
}

// find says where a block lies.
func (s *Store) find(id ID) (place, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.index.find(id)
	return p, p.pack != nil
}

// findAll is find for many; of those that are not there, the pack is nil.
func (s *Store) findAll(ids []ID) []place {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]place, len(ids))
	for i, id := range ids {
		if id != zero {
			all[i] = s.index.find(id)
		}
	}
	return all
}

// Used is how many bytes the store takes, without packs that were set aside because they are
// damaged.
func (s *Store) Used() (int64, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var used int64
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), asideSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil { // else it is gone
			used += info.Size()
		}
	}
	return used, err
}

// newName is a name that nobody has used.
func newName() string { return strings.ToLower(rand.Text()) }

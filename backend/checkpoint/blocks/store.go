// Package blocks keeps files by content: what many of them have in common lies on the disk once.
//
// A file is cut into blocks of a page each, every block is named by its BLAKE3, and what is new of them is compressed and appended to a
// pack. What a group of files is made of is a recipe, a small file that lies wherever its owner wants it; deleting it is all that it takes to
// delete the files. Collect then gives back the room of the blocks that no recipe needs. ../FORMAT.md is normative.
//
// Nothing is visible before it is durable: packs and recipes are written under another name, synced and renamed, a recipe after all packs
// that it needs. So whatever is cut off leaves a store that is as before, and rubbish that the next Collect sweeps.
//
// Several processes may use a store at once. Whoever puts, restores or copies holds its lock shared, for that long; only the moment
// in which packs are deleted takes it for itself.
package blocks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"lukechampine.com/blake3"
)

// Unit is how many bytes a block has, but for the last one of a file: a page, which is what a program changes of its memory at
// least. FORMAT.md says why no larger one.
const Unit = 4096

// ID names a block: its BLAKE3.
type ID [32]byte

func idOf(b []byte) ID { return blake3.Sum256(b) }

func (id ID) String() string { return hex.EncodeToString(id[:8]) }

// ErrDamaged marks what cannot be given back as it was put: bytes have changed, or are gone.
var ErrDamaged = errors.New("damaged")

// errUnreadable marks a pack that the system does not let us read, which may pass: nothing of it is taken for lost.
var errUnreadable = errors.New("unreadable")

// Store is a folder of packs. All methods may be called from any goroutine.
type Store struct {
	dir     string
	recipes func() ([]string, error)
	disk    disk

	mu     sync.Mutex // guards what follows
	index  map[ID]place
	packs  map[string]*pack // by name
	broken map[string]error // packs whose index cannot be read, and why
	forget *time.Timer      // drops the index when nobody has used it for a while
	used   int              // by how many it is in use
}

// place is where a block lies.
type place struct {
	pack *pack
	at   int32 // in pack.entries
}

// keepIndex is how long the index stays in memory after its last use: it takes some 80 bytes a block.
const keepIndex = time.Minute

// Open returns the store in the folder dir, which is made when something is put. recipes tells where every recipe lies that refers to
// it, as what none of them needs is collected.
func Open(dir string, recipes func() ([]string, error)) *Store {
	return &Store{dir: dir, recipes: recipes, disk: osDisk{}}
}

const (
	lockName   = "lock"
	packSuffix = ".pack"
	// unfinished is the end of names of what is being written; it is rubbish unless its writer, who holds the lock, is alive.
	unfinished = ".partial"
	// lockPoll is how often a lock that another holds is tried.
	lockPoll = 2 * time.Millisecond
)

// share takes the lock together with others. What is there then stays there until release.
func (s *Store) share(ctx context.Context) (release func(), err error) {
	return s.lock(ctx, (*flock.Flock).TryRLockContext)
}

// own takes the lock for itself.
func (s *Store) own(ctx context.Context) (release func(), err error) {
	return s.lock(ctx, (*flock.Flock).TryLockContext)
}

func (s *Store) lock(ctx context.Context, try func(*flock.Flock, context.Context, time.Duration) (bool, error)) (func(), error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(s.dir, lockName), flock.SetPermissions(0o600))
	if _, err := try(lock, ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("wait for the store of blocks: %w", err)
	}
	s.mu.Lock()
	s.used++
	if s.forget != nil {
		s.forget.Stop()
	}
	s.mu.Unlock()
	return func() {
		lock.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.used--; s.used == 0 {
			s.forget = time.AfterFunc(keepIndex, s.drop)
		}
	}, nil
}

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
	for name := range s.packs {
		if !there[name] {
			s.index = nil // somebody has collected
			break
		}
	}
	if s.index == nil {
		s.index, s.packs = map[ID]place{}, map[string]*pack{}
	}
	s.broken = map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if s.packs[name] != nil {
			continue
		}
		p, err := openPack(s.disk, s.dir, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM): // it is not the pack's
			return err
		case errors.Is(err, ErrDamaged):
			s.broken[name] = err
		case err != nil: // it concerns those alone who need something of it
			s.broken[name] = fmt.Errorf("%w: the pack %s cannot be read: %w", errUnreadable, name, err)
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
	for i := range p.entries {
		if _, twice := s.index[p.entries[i].id]; !twice {
			s.index[p.entries[i].id] = place{p, int32(i)}
		}
	}
}

// find says where a block lies.
func (s *Store) find(id ID) (place, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.index[id]
	return p, ok
}

// findAll is find for many; of those that are not there, the pack is nil.
func (s *Store) findAll(ids []ID) []place {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]place, len(ids))
	for i, id := range ids {
		if id != zero {
			all[i] = s.index[id]
		}
	}
	return all
}

// Used is how many bytes the packs take.
func (s *Store) Used() (int64, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var used int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // else it is gone
			used += info.Size()
		}
	}
	return used, err
}

// newName is a name that nobody has used.
func newName() string { return strings.ToLower(rand.Text()) }

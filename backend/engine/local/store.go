// Package local is what the engines of this computer share: where the machines' checkpoints lie,
// what a sandbox is made of, and the template of new machines. As they share it, a machine that one
// of them saved is brought into memory by the other.
//
// Under the data folder (mode 0700) lie
//
//	digests.json                  SHA-256 of images and runsc, remembered by size and time
//	templates/lock                held while a template is made
//	templates/KEY/checkpoints/ID  the template: a checkpoint whose interpreter has its libraries imported
//	machines/ID/checkpoints/      see package checkpoint
//	machines/ID/restoring/        files of a checkpoint of which there are only blocks, while it is brought into memory
//	parts/DIGEST/NAME.zst         image or runsc that machines need, see kept.go; without .zst where it is not the installed one
//	blocks/                       what checkpoints are made of, but some of those that were synced, see package checkpoint/blocks
//
// KEY names image, runsc and base spec. A template is only ever restored by machines that were
// never saved; a machine's own checkpoints hold everything, so templates of earlier images and
// runscs are removed when a new one is made.
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/checkpoint/blocks"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// Config says where things are. Paths are absolute.
type Config struct {
	Runsc  string // the program
	Images string // folder of NAME.erofs
	Data   string // made if need be
	Log    *slog.Logger
	// Sums are SHA-256 sums, in hexadecimal, of files that cannot change, by their paths: a virtual
	// machine would take a minute to read an image that its computer has read. Others are read.
	Sums map[string]string
	// Warn tells people, in a sentence, that saved state has changed on the disk; nil where nobody
	// listens.
	Warn func(sentence string)
}

// Store holds what lies under the data folder. A process makes one for a folder and gives it to all
// engines: it keeps those from each other's way who work with one machine. Other processes may have
// their own.
type Store struct {
	cfg     Config
	digests digests
	making  chan struct{} // full while a template is made
	blocks  *blocks.Store
	guards  sync.Map // *guard by machine.ID

	unpacking sync.Mutex // held while a part is unpacked
	parents   sync.Map   // of forks that were not started yet, the machine.ID by theirs; only to be faster
}

var _ machine.Checkpoints = (*Store)(nil)

// NewStore opens the folder. It touches nothing yet.
func NewStore(cfg Config) *Store {
	return &Store{
		cfg:     cfg,
		digests: digests{file: filepath.Join(cfg.Data, "digests.json"), log: cfg.Log, told: cfg.Sums},
		making:  make(chan struct{}, 1),
		blocks:  OpenBlocks(cfg.Data),
	}
}

// Config is what the store was made with.
func (s *Store) Config() Config { return s.cfg }

// Machine is the folder of a machine, which must have been found valid. What else than the
// checkpoints lies there is the engine's.
func (s *Store) Machine(id machine.ID) string {
	return filepath.Join(s.cfg.Data, "machines", string(id))
}

// Checkpoints is where the checkpoints of a machine or template lie whose folder is dir.
func Checkpoints(dir string) checkpoint.Folder {
	return checkpoint.Folder(filepath.Join(dir, "checkpoints"))
}

// Reclaim is machine.Engine's, once nothing of the machine's last life is left.
func (s *Store) Reclaim(ctx context.Context, id machine.ID, life string, known []string) (*machine.CheckpointInfo, error) {
	folder := Checkpoints(s.Machine(id))
	newest, superseded, err := folder.Unrecorded(life, known)
	if err != nil {
		return nil, Describe(err)
	}
	for _, m := range superseded {
		if err := folder.Delete(m.ID); err != nil {
			return nil, Describe(err)
		}
	}
	if newest == nil {
		return nil, nil
	}
	if err := s.Persist(ctx, id, newest.ID, true); err != nil {
		return nil, err
	}
	info := link.Info(*newest)
	return &info, nil
}

// Copy is machine.Checkpoints'.
func (s *Store) Copy(ctx context.Context, from machine.ID, name string, to machine.ID) (machine.CheckpointInfo, error) {
	for _, id := range []machine.ID{from, to} {
		if err := ValidID(id); err != nil {
			return machine.CheckpointInfo{}, err
		}
	}
	g := s.guard(from)
	g.using.RLock()
	defer g.using.RUnlock()
	m, err := Checkpoints(s.Machine(from)).Copy(ctx, name, Checkpoints(s.Machine(to)), s.blocks)
	if err == nil {
		s.parents.Store(to, from)
	}
	switch {
	case errors.Is(err, checkpoint.ErrUnusable):
		return machine.CheckpointInfo{}, Unusable("The checkpoint is missing or damaged.", err)
	case err != nil && ctx.Err() != nil:
		return machine.CheckpointInfo{}, ctx.Err()
	case err != nil:
		return machine.CheckpointInfo{}, Describe(err)
	}
	return link.Info(m), nil
}

// Delete is machine.Checkpoints'.
func (s *Store) Delete(_ context.Context, id machine.ID, name string) error {
	if err := ValidID(id); err != nil {
		return err
	}
	g := s.guard(id)
	g.changing.Lock()
	defer g.changing.Unlock()
	if err := Checkpoints(s.Machine(id)).Delete(name); err != nil {
		return Describe(err)
	}
	return nil
}

// Purge removes a machine's folder. settle is called before, where there is one: it sees to it that
// nobody uses the folder.
func (s *Store) Purge(id machine.ID, settle func() error) error {
	if err := ValidID(id); err != nil {
		return err
	}
	g := s.guard(id)
	g.changing.Lock()
	defer g.changing.Unlock()
	s.parents.Delete(id)
	dir := s.Machine(id)
	gone := dir + removed
	if err := os.RemoveAll(gone); err != nil { // left by a purge that was cut off
		return Describe(err)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := settle(); err != nil {
		return err
	}
	// Out of the way in one step, so that a crash leaves no half machine; and for good, as the
	// blocks of its checkpoints go next.
	err := os.Rename(dir, gone)
	if err == nil {
		err = blocks.SyncDir(filepath.Dir(dir))
	}
	if err = errors.Join(err, os.RemoveAll(gone)); err != nil {
		return Describe(err)
	}
	return nil
}

// removed is the end of the name of a machine's folder that is being removed.
const removed = ".removed"

// ValidID keeps anything but an id from becoming part of a path.
func ValidID(id machine.ID) error {
	invalid := len(id) == 0 || len(id) > 64
	for _, c := range []byte(id) {
		invalid = invalid || (c < '0' || c > '9') && (c < 'a' || c > 'z')
	}
	if invalid {
		return &machine.Error{Kind: machine.ErrInvalid, Message: fmt.Sprintf("%.80q cannot be the id of a machine.", id)}
	}
	return nil
}

// Describe makes a sentence of what the file system refuses.
func Describe(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &machine.Error{Kind: machine.ErrDiskFull, Message: "The disk is full. Free some room and try again.", Cause: err}
	}
	return &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("The machine's files cannot be used: %v.", err), Cause: err}
}

// Unusable is the error of a checkpoint that cannot be restored.
func Unusable(message string, err error) error {
	return &machine.Error{Kind: machine.ErrCheckpointUnusable, Message: message, Cause: err}
}

// Package backup keeps copies of machines as files in a folder of the person's, say on an external
// disk or in a synced folder.
//
// A round copies each machine whose state has changed since its last copy. It reads each copy back
// and compares it with its signature before it counts. Of each machine the last few copies are
// kept. To restore one, open the file as any other machine's.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/parcel"
)

// Left is the tag of machines that are left out.
const Left = "no-backup"

// Usual is how many copies of a machine are kept where nobody says.
const Usual = 3

const (
	// firstLook is how long after the daemon's start a round may begin, and look how often is
	// looked whether one is due.
	firstLook, look = 5 * time.Minute, 10 * time.Minute
	// again is when a round is tried again in which something went wrong.
	again = time.Hour
	// night is the hour, local time, at which a round is due each day.
	night = 3
	// leaveFree is how many bytes of the folder's disk are left to others.
	leaveFree = 1 << 30
)

// Plan is what the person wants.
type Plan struct {
	Folder string // "" for no backups
	Keep   int    // copies of each machine, 1 or more
}

// Machines are those that are copied.
type Machines interface {
	List(ctx context.Context, f machine.Filter) (machine.Page[machine.Machine], error)
	Find(ctx context.Context, name string) (machine.Handle, error)
}

// Config is what a Keeper works with.
type Config struct {
	Dirs     home.Dirs
	Machines Machines
	Parcels  *parcel.Desk
	Plan     func() Plan
	FreeDisk func(folder string) (int64, error) // bytes
	// Told is called after each round with what went wrong, in sentences for the person; "" for
	// nothing.
	Told   func(problem string)
	Logger *slog.Logger
}

// Keeper makes the copies. All methods may be called from any goroutine.
type Keeper struct {
	config Config
	wanted chan struct{} // a round that was asked for

	mu      sync.Mutex
	running bool
	known   home.Backups
}

// New returns a Keeper; Watch makes it work.
func New(config Config) *Keeper {
	known, err := config.Dirs.ReadBackups()
	if err != nil {
		config.Logger.Warn("all machines are backed up again", "err", err)
	}
	if config.Plan().Folder != "" {
		config.Told(known.Problem)
	}
	return &Keeper{config: config, wanted: make(chan struct{}, 1), known: known}
}

// Status is how things stand.
type Status struct {
	Plan

	Running bool
	GoodAt  time.Time // zero for never
	Problem string
	Copies  []Copy // the last of each machine
}

// Copy is the last copy of a machine.
type Copy struct {
	Machine string // its name
	home.Backup
}

// Status tells how things stand.
func (k *Keeper) Status(ctx context.Context) (Status, error) {
	all, err := k.machines(ctx)
	if err != nil {
		return Status{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	status := Status{Plan: k.config.Plan(), Running: k.running, GoodAt: k.known.GoodAt, Problem: k.known.Problem}
	for _, m := range all {
		if last, ok := k.known.Machines[string(m.ID)]; ok {
			status.Copies = append(status.Copies, Copy{m.Name, last})
		}
	}
	return status, nil
}

// Start asks for a round now. It returns an ErrConflict where no folder is chosen.
func (k *Keeper) Start() error {
	if k.config.Plan().Folder == "" {
		return machine.Conflict("There is no folder for backups. Choose one in the settings, under Backups, or with `forevervm settings set backup_folder FOLDER`.")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case k.wanted <- struct{}{}:
		k.running = true
	default: // one is asked for already
	}
	return nil
}

// Watch makes rounds until ctx ends: each night, at the next occasion where the computer was off
// then, and when Start asks for one.
func (k *Keeper) Watch(ctx context.Context) {
	for wait := firstLook; ; wait = look {
		select {
		case <-time.After(wait):
			if k.config.Plan().Folder == "" {
				k.config.Told("")
			}
			if !k.due(time.Now()) {
				continue
			}
		case <-k.wanted:
		case <-ctx.Done():
			return
		}
		k.round(ctx)
	}
}

// due says whether a round is due.
func (k *Keeper) due(now time.Time) bool {
	if k.config.Plan().Folder == "" {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.known.TriedAt.IsZero():
		return true
	case k.known.Problem != "":
		return now.Sub(k.known.TriedAt) >= again
	}
	return !now.Before(nextNight(k.known.TriedAt.Local()))
}

// nextNight is the first time after a moment at which a round is due.
func nextNight(after time.Time) time.Time {
	at := time.Date(after.Year(), after.Month(), after.Day(), night, 0, 0, 0, after.Location())
	if !at.After(after) {
		at = time.Date(after.Year(), after.Month(), after.Day()+1, night, 0, 0, 0, after.Location())
	}
	return at
}

// round copies what has changed.
func (k *Keeper) round(ctx context.Context) {
	k.mu.Lock()
	k.running = true
	k.mu.Unlock()
	plan := k.config.Plan()
	problem := ""
	if err := k.copyAll(ctx, plan); err != nil {
		k.config.Logger.Error("backups failed", "err", err)
		problem = sentence(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = false
	if ctx.Err() != nil {
		return // the daemon ends: this round is no failure
	}
	k.known.TriedAt, k.known.Problem = time.Now(), problem
	if problem == "" {
		k.known.GoodAt = k.known.TriedAt
	}
	k.remember()
	k.config.Told(problem)
}

func sentence(err error) string {
	if said, ok := errors.AsType[*machine.Error](err); ok {
		return said.Message
	}
	return fmt.Sprintf("The backup failed: %v. ForeverVM tries again in an hour.", err)
}

// remember writes the record; mu is held. A machine that is not in it is copied again.
func (k *Keeper) remember() {
	if err := k.config.Dirs.WriteBackups(k.known); err != nil {
		k.config.Logger.Warn("the record of backups cannot be written", "err", err)
	}
}

// machines are those of this computer that are not left out.
func (k *Keeper) machines(ctx context.Context) ([]machine.Machine, error) {
	page, err := k.config.Machines.List(ctx, machine.Filter{Limit: -1})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(page.Items, func(m machine.Machine) bool {
		_, left := m.Tags[Left]
		return left
	}), nil
}

// copyAll goes on where one machine cannot be copied, and returns the first error.
func (k *Keeper) copyAll(ctx context.Context, plan Plan) error {
	// The folder itself is never made: that of a disk that is not connected would be on another.
	if info, err := os.Stat(plan.Folder); err != nil || !info.IsDir() {
		return &machine.Error{Kind: machine.ErrConflict, Cause: err, Message: "Backups were not made, because the folder " + plan.Folder +
			" is not there. Connect its disk, or choose another folder in the settings. ForeverVM tries again in an hour."}
	}
	all, err := k.machines(ctx)
	if err != nil {
		return err
	}
	var first error
	for _, m := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := k.copy(ctx, plan, m); err != nil && first == nil && !errors.Is(err, machine.ErrNotFound) {
			first = fmt.Errorf("%s was not backed up: %w", m.Name, err)
		}
	}
	return first
}

// copy copies a machine if its state has changed.
func (k *Keeper) copy(ctx context.Context, plan Plan, m machine.Machine) error {
	handle, err := k.config.Machines.Find(ctx, m.Name)
	if err != nil {
		return err
	}
	checkpoints, err := handle.Checkpoints(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(checkpoints, func(c machine.Checkpoint) bool { return c.Present })
	if at < 0 {
		return nil // nothing has run
	}
	state := checkpoints[at].ID
	folder := filepath.Join(plan.Folder, m.Name)
	k.mu.Lock()
	last := k.known.Machines[string(m.ID)]
	k.mu.Unlock()
	if last.Checkpoint == state && filepath.Dir(last.File) == folder {
		if info, err := os.Stat(last.File); err == nil && info.Size() == last.Size {
			return nil
		}
	}
	if free, err := k.config.FreeDisk(plan.Folder); err == nil && free < leaveFree+last.Size {
		return &machine.Error{Kind: machine.ErrDiskFull, Message: "Backups stopped, because the disk of " + plan.Folder +
			" has too little room. Delete what you do not need there, or keep fewer copies."}
	}
	made, err := k.write(ctx, handle, state, folder)
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.known.Machines[string(m.ID)] = made
	k.remember()
	k.mu.Unlock()
	return thin(folder, m.Name, plan.Keep)
}

// write makes a copy, which counts once it was read back.
func (k *Keeper) write(ctx context.Context, handle machine.Handle, state, folder string) (made home.Backup, err error) {
	packed, err := handle.Pack(ctx, state)
	if err != nil {
		return home.Backup{}, err
	}
	defer packed.Close()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return home.Backup{}, err
	}
	if err := removeUnfinished(folder); err != nil {
		return home.Backup{}, err
	}
	file, err := os.CreateTemp(folder, unfinished+"*")
	if err != nil {
		return home.Backup{}, err
	}
	defer func() {
		file.Close()
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	if err := k.config.Parcels.Pack(ctx, file, packed); err != nil {
		return home.Backup{}, err
	}
	if err := file.Sync(); err != nil {
		return home.Backup{}, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return home.Backup{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return home.Backup{}, err
	}
	if err := parcel.Verify(ctx, file); err != nil {
		return home.Backup{}, fmt.Errorf("the copy is not what was written, so the disk may be failing: %w", err)
	}
	if err := file.Close(); err != nil {
		return home.Backup{}, err
	}
	at := time.Now()
	path := filepath.Join(folder, nameOf(packed.About().Name, at))
	if err := os.Rename(file.Name(), path); err != nil {
		return home.Backup{}, err
	}
	return home.Backup{Checkpoint: state, File: path, Size: size, At: at}, nil
}

// unfinished is how the name of a copy begins until it counts.
const unfinished = ".forevervm-"

// removeUnfinished removes what a daemon that was killed has left.
func removeUnfinished(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), unfinished) {
			if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

const stamp = "2006-01-02 15-04-05"

func nameOf(name string, at time.Time) string { return name + " " + at.Format(stamp) + parcel.Ending }

// thin removes all but the last few copies. It touches only files that are named as copies are.
func thin(folder, name string, keep int) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	copies := regexp.MustCompile(`^` + regexp.QuoteMeta(name) + ` \d{4}-\d{2}-\d{2} \d{2}-\d{2}-\d{2}` + regexp.QuoteMeta(parcel.Ending) + `$`)
	var found []string // the oldest first, as their names sort
	for _, entry := range entries {
		if entry.Type().IsRegular() && copies.MatchString(entry.Name()) {
			found = append(found, entry.Name())
		}
	}
	for _, old := range found[:max(0, len(found)-keep)] {
		if err := os.Remove(filepath.Join(folder, old)); err != nil {
			return err
		}
	}
	return nil
}

package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

const (
	partial = ".partial"
	removed = ".removed"
)

// Folder is where the checkpoints of one machine lie. Several processes may read it; one at a time
// writes (the holder of the machine's lock, or the daemon for copies and deletions, which touch
// other names).
type Folder string

// NewID makes an id for the next checkpoint in the folder: a number that is higher than every one
// there and than those of the given ids, then 64 random bits. So ids of one machine sort by age,
// whatever the clock does.
func (f Folder) NewID(after ...string) (string, error) {
	highest := 0
	entries, err := os.ReadDir(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		after = append(after, strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(e.Name(), partial), removed), recipeSuffix))
	}
	for _, id := range after {
		if ValidID(id) {
			n, _ := strconv.Atoi(id[:8])
			highest = max(highest, n)
		}
	}
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return fmt.Sprintf("%08d-%s", highest+1, hex.EncodeToString(b[:])), nil
}

// ValidID says whether s can be a checkpoint's id; anything else must not become part of a path.
func ValidID(s string) bool {
	if len(s) != 25 || s[8] != '-' {
		return false
	}
	for i, c := range []byte(s) {
		digit := c >= '0' && c <= '9'
		if i != 8 && !digit && (i < 8 || c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Path is where the checkpoint id lies.
func (f Folder) Path(id string) string { return filepath.Join(string(f), id) }

// Load reads the manifest of the checkpoint id, whether its files are there or only their blocks.
func (f Folder) Load(id string) (Manifest, error) {
	if !ValidID(id) {
		return Manifest{}, fmt.Errorf("%w: the id %.64q", ErrUnusable, id)
	}
	m, err := Load(f.Path(id))
	if err == nil {
		return m, nil
	}
	if packed, recipeErr := f.loadRecipe(id); recipeErr == nil || !errors.Is(recipeErr, fs.ErrNotExist) {
		return packed, recipeErr
	}
	return m, err
}

// List returns the whole checkpoints, oldest first. Damaged ones are left out.
func (f Folder) List() ([]Manifest, error) {
	list, _, err := f.ListAll()
	return list, err
}

// ListAll is List, and says whether none was left out.
func (f Folder) ListAll() (list []Manifest, all bool, err error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	all = true
	there := map[string]bool{}
	for _, e := range entries {
		if id := strings.TrimSuffix(e.Name(), recipeSuffix); ValidID(id) {
			there[id] = true
		}
	}
	for id := range there {
		m, err := f.Load(id)
		if err != nil {
			all = false
			continue
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Manifest) int { return strings.Compare(a.ID, b.ID) })
	return list, all, nil
}

// Pending is a checkpoint being written.
type Pending struct {
	folder Folder
	id     string
	Dir    string // where its files go
}

// Begin makes the folder of a new checkpoint, in this folder. Commit or Abort it.
func (f Folder) Begin(id string) (*Pending, error) {
	return f.BeginIn(id, string(f))
}

// BeginIn is Begin for who may write only in another folder of the same mount while the checkpoint
// is made.
func (f Folder) BeginIn(id, parent string) (*Pending, error) {
	if !ValidID(id) {
		return nil, fmt.Errorf("the id %.64q", id)
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, err
	}
	dir := filepath.Join(parent, id+partial)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return &Pending{folder: f, id: id, Dir: dir}, nil
}

// Commit makes the checkpoint durable and visible, with the manifest, whose ID, Format, Size and
// Boot are set here.
func (p *Pending) Commit(m Manifest) (Manifest, error) {
	m.Boot = ""
	return p.commit(m, syncFile, blocks.SyncDir)
}

// CommitUnsynced is Commit that leaves it to the system when the files get to the disk. Until Keep
// has put their blocks there, the checkpoint survives everything but the system's own end.
func (p *Pending) CommitUnsynced(m Manifest) (Manifest, error) {
	if m.Boot = thisBoot(); m.Boot == "" {
		return p.Commit(m)
	}
	return p.commit(m, sizeOf, func(string) error { return nil })
}

func (p *Pending) commit(m Manifest, sync func(file string) (size int64, err error), syncDir func(string) error) (Manifest, error) {
	m.Format, m.ID, m.Size = Format, p.id, 0
	if m.Sums == nil && m.Digest == "" { // else it is a copy
		if err := m.sum(context.Background(), p.Dir); err != nil {
			return m, err
		}
	}
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return m, err
	}
	for _, e := range entries {
		n, err := sync(filepath.Join(p.Dir, e.Name()))
		if err != nil {
			return m, err
		}
		if e.Name() != sumsName {
			m.Size += n
		}
	}
	m.Whole = m.Size
	if err := m.write(p.Dir); err != nil {
		return m, err
	}
	if err := syncDir(p.Dir); err != nil {
		return m, err
	}
	if err := os.Rename(p.Dir, p.folder.Path(p.id)); err != nil {
		return m, err
	}
	return m, syncDir(string(p.folder))
}

// Settle makes the files of a checkpoint durable that was committed unsynced, so that it needs no
// blocks.
func (f Folder) Settle(id string) error {
	m, err := Load(f.Path(id))
	if err != nil || m.Boot == "" {
		return err
	}
	for _, name := range append(slices.Clone(files), sumsName) {
		if _, err := syncFile(filepath.Join(f.Path(id), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := blocks.SyncDir(f.Path(id)); err != nil {
		return err
	}
	m.Boot = ""
	return errors.Join(f.replace(m), blocks.SyncDir(string(f)))
}

// replace puts another manifest in the place of a checkpoint's.
func (f Folder) replace(m Manifest) error {
	temporary := f.Path(m.ID) + manifestName + partial // rubbish after a crash
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := m.writeTo(temporary)
	if err == nil {
		err = os.Rename(temporary, filepath.Join(f.Path(m.ID), manifestName))
	}
	return errors.Join(err, blocks.SyncDir(f.Path(m.ID)))
}

// Abort removes what was written.
func (p *Pending) Abort() error { return os.RemoveAll(p.Dir) }

// Delete removes the checkpoint id; a missing one is no error. A crash leaves either all of it or
// rubbish. The room of its blocks is given back when the store collects.
func (f Folder) Delete(id string) error {
	if !ValidID(id) {
		return fmt.Errorf("the id %.64q", id)
	}
	if err := os.Remove(f.Recipe(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f.deleteFolder(id, func(string) {})
}

// deleteFolder removes the files of a checkpoint; before, leave may take some of them out of the
// folder that it is given.
func (f Folder) deleteFolder(id string, leave func(dir string)) error {
	gone := f.Path(id) + removed
	err := os.Rename(f.Path(id), gone)
	switch {
	case err == nil:
		leave(gone)
		err = os.RemoveAll(gone)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	default:
		return err
	}
	if synced := blocks.SyncDir(string(f)); !errors.Is(synced, fs.ErrNotExist) {
		err = errors.Join(err, synced)
	}
	return err
}

// Sweep removes what was left half written or half deleted. Only the holder of the machine's lock
// may call it.
func (f Folder) Sweep() error {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partial) || strings.HasSuffix(e.Name(), removed) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(string(f), e.Name())))
		}
	}
	return err
}

// Copy gives the folder `to` a checkpoint of its own with the content of id, and returns its
// manifest. The files, which never change, are shared where the file system can, and copied where
// it cannot. Of one that is kept as blocks, only those are shared.
func (f Folder) Copy(ctx context.Context, id string, to Folder, store *blocks.Store) (Manifest, error) {
	m, err := f.Load(id)
	if err != nil {
		return m, err
	}
	newID, err := to.NewID()
	if err != nil {
		return m, err
	}
	m.Life = "" // it is of nobody's yet
	whole := f.Whole(id)
	if _, err := os.Lstat(f.Recipe(id)); err != nil || whole && m.Boot == "" {
		return f.copyFolder(ctx, m, to, newID, (*Pending).Commit)
	}
	copied, err := f.copyRecipe(ctx, m, to, newID, store)
	if err == nil && whole { // it has its blocks to fall back on
		copied, err = f.copyFolder(ctx, m, to, newID, (*Pending).CommitUnsynced)
	}
	return copied, err
}

// copyFolder is Copy of the files.
func (f Folder) copyFolder(ctx context.Context, m Manifest, to Folder, newID string, commit func(*Pending, Manifest) (Manifest, error)) (Manifest, error) {
	p, err := to.Begin(newID)
	if err != nil {
		return m, err
	}
	m, err = f.fill(ctx, m, p, commit)
	if err != nil {
		return m, errors.Join(err, p.Abort())
	}
	return m, nil
}

func (f Folder) fill(ctx context.Context, m Manifest, p *Pending, commit func(*Pending, Manifest) (Manifest, error)) (Manifest, error) {
	id := m.ID
	entries, err := os.ReadDir(f.Path(id))
	if err != nil {
		return m, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	for _, e := range entries {
		if e.Name() == manifestName {
			continue
		}
		if err := linkOrCopy(ctx, filepath.Join(f.Path(id), e.Name()), filepath.Join(p.Dir, e.Name())); err != nil {
			return m, err
		}
	}
	return commit(p, m)
}

func linkOrCopy(ctx context.Context, from, to string) error {
	if err := regular(from); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, contextReader{ctx, in})
	return errors.Join(err, out.Close())
}

// Reader reads from r until its context ends.
func Reader(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// regular refuses anything but a plain file: anyone who wrote it could have it stand for another
// one.
func regular(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s is no file", ErrUnusable, path)
	}
	return err
}

func sizeOf(path string) (size int64, err error) {
	if err := regular(path); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func syncFile(path string) (size int64, err error) {
	if err := regular(path); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), f.Sync()
}

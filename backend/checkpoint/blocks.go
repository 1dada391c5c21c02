package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// recipeSuffix is the end of the name of the file that says what blocks a checkpoint is made of.
const recipeSuffix = ".blocks"

// Recipes tells where the recipes of the checkpoints lie that are kept as blocks, oldest first.
func (f Folder) Recipes() ([]string, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), recipeSuffix); ok && ValidID(id) {
			all = append(all, f.Recipe(id))
		}
	}
	return all, nil
}

// Recipe is where the recipe of the checkpoint id lies, if it is kept as blocks.
func (f Folder) Recipe(id string) string { return f.Path(id) + recipeSuffix }

// Whole says whether the files of the checkpoint id lie in its folder, ready to be restored from.
func (f Folder) Whole(id string) bool {
	_, err := Load(f.Path(id))
	return err == nil
}

// Kept says whether the checkpoint id is kept as blocks.
func (f Folder) Kept(id string) bool {
	_, err := f.loadRecipe(id)
	return err == nil
}

// Keep keeps the files of the checkpoint id as blocks in the store, too, and returns its manifest
// with the size that it has without its folder. near is the path of a checkpoint (as Folder.Path)
// that it has much in common with, or "". Where it is kept already, nothing happens.
func (f Folder) Keep(ctx context.Context, id, near string, store *blocks.Store) (Manifest, error) {
	if kept, err := f.loadRecipe(id); err == nil {
		return kept, nil
	}
	m, err := f.Load(id)
	if err != nil {
		return m, err
	}
	var names []string
	for _, name := range files {
		switch _, err := os.Lstat(filepath.Join(f.Path(id), name)); {
		case err == nil:
			names = append(names, name)
		case !errors.Is(err, fs.ErrNotExist):
			return m, err
		}
	}
	if m.Sums != nil && len(names) != len(m.Sums) { // which have the memory's checksums in place of the memory
		return m, changed("one of its files", "it is missing")
	}
	if m.Sums == nil { // it cannot be checked while it is read
		if err := f.Compare(ctx, id); err != nil {
			return m, err
		}
	}
	saved := m
	m.Boot, m.Digest, m.Sums = "", "", nil // blocks are named by their content
	meta, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	if near != "" {
		near += recipeSuffix
	}
	r, err := store.Put(ctx, f.Path(id), names, near, f.Recipe(id), meta, func(name string, r io.Reader) (io.Reader, error) {
		return saved.through(f.Path(id), name, r)
	})
	if err != nil {
		return m, err
	}
	m.Size = r.Stored
	return m, nil
}

// Confirm reads all blocks that the files of a checkpoint are made of. It fails where the files,
// each as long as it is in the folder, could not be made of them again. It does not read a block
// twice in the same piece of work.
func (f Folder) Confirm(ctx context.Context, id string, store *blocks.Store) error {
	r, _, err := f.readRecipe(id)
	if err != nil {
		return err
	}
	if f.Whole(id) {
		there := 0
		for i := range r.Files {
			info, err := os.Lstat(filepath.Join(f.Path(id), r.Files[i].Name))
			if err == nil && info.Size() != r.Files[i].Size {
				err = fmt.Errorf("%s has %d bytes, but %d are kept as blocks", r.Files[i].Name, info.Size(), r.Files[i].Size)
			}
			if err != nil {
				return err
			}
		}
		for _, name := range files {
			if _, err := os.Lstat(filepath.Join(f.Path(id), name)); err == nil {
				there++
			}
		}
		if there != len(r.Files) {
			return fmt.Errorf("of %d files %d are kept as blocks", there, len(r.Files))
		}
	}
	return store.Verify(ctx, r)
}

// ConfirmBlocks is Confirm without regard to the folder.
func (f Folder) ConfirmBlocks(ctx context.Context, id string, store *blocks.Store) error {
	r, _, err := f.readRecipe(id)
	if err != nil {
		return err
	}
	return store.Verify(ctx, r)
}

// DropDamaged removes the files of a checkpoint, which have changed. Its blocks, which the caller
// has confirmed, are left.
func (f Folder) DropDamaged(id string) error {
	if _, err := f.loadRecipe(id); err != nil {
		return err
	}
	return f.deleteFolder(id, func(string) {})
}

// DropFolder removes the files of a checkpoint that is kept as blocks, which the caller has
// confirmed. Nobody may be using them. The largest may become the machine's next one.
func (f Folder) DropFolder(id string) error {
	if _, err := f.loadRecipe(id); err != nil {
		return err
	}
	return f.deleteFolder(id, f.leaveSpare)
}

// Near is the newest checkpoint before id that is kept as blocks, as its path; "" when there is
// none.
func (f Folder) Near(id string) string {
	recipes, _ := f.Recipes()
	near := ""
	for _, path := range recipes {
		if path = strings.TrimSuffix(path, recipeSuffix); filepath.Base(path) != id && (near == "" || filepath.Base(path) < id) {
			near = path
		}
	}
	return near
}

// Like is the newest whole checkpoint that is kept as blocks, too, as its path; "" when there is
// none.
func (f Folder) Like() string {
	recipes, _ := f.Recipes()
	slices.Sort(recipes)
	for _, path := range slices.Backward(recipes) {
		if id := strings.TrimSuffix(filepath.Base(path), recipeSuffix); f.Whole(id) {
			return f.Path(id)
		}
	}
	return ""
}

// Expand writes the files of the checkpoint id, which are only there as blocks, into the folder
// dir/id, which it makes, as they were. They are not synced, and are to be removed when they have
// been used. like is the path of a whole checkpoint (as Folder.Path) that it has much in common
// with, which makes it faster, or "".
func (f Folder) Expand(ctx context.Context, id, dir, like string, store *blocks.Store) error {
	r, m, err := f.readRecipe(id)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, id)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	var twins blocks.Like
	if like != "" {
		if recipe, err := blocks.ReadRecipe(like + recipeSuffix); err == nil {
			sums, release := hold(like)
			defer release()
			twins = blocks.Like{Dir: like, Recipe: recipe, Sound: func(name string, at int64, b []byte) bool {
				return name == pagesName && intact(sums, at, b)
			}}
		}
	}
	if err := store.Restore(ctx, r, to, twins); err != nil {
		if errors.Is(err, blocks.ErrDamaged) || errors.Is(err, blocks.ErrVersion) {
			err = fmt.Errorf("%w: checkpoint %s: %w", ErrUnusable, id, err)
		}
		return errors.Join(err, os.RemoveAll(to))
	}
	m.Size = m.Whole
	if err := m.sum(ctx, to); err != nil {
		return errors.Join(err, os.RemoveAll(to))
	}
	return m.write(to)
}

// copyRecipe gives the folder `to` a checkpoint of its own of the same blocks.
func (f Folder) copyRecipe(ctx context.Context, m Manifest, to Folder, newID string, store *blocks.Store) (Manifest, error) {
	old := m.ID
	m.ID, m.Life, m.Boot, m.Size, m.Digest, m.Sums = newID, "", "", 0, "", nil
	meta, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	if err := os.MkdirAll(string(to), 0o700); err != nil {
		return m, err
	}
	_, err = store.Link(ctx, f.Recipe(old), to.Recipe(newID), meta)
	if errors.Is(err, blocks.ErrDamaged) || errors.Is(err, blocks.ErrVersion) {
		err = fmt.Errorf("%w: checkpoint %s: %w", ErrUnusable, old, err)
	}
	return m, err
}

func (f Folder) loadRecipe(id string) (Manifest, error) {
	_, m, err := f.readRecipe(id)
	return m, err
}

// readRecipe reads the recipe of a checkpoint, and its manifest in it.
func (f Folder) readRecipe(id string) (blocks.Recipe, Manifest, error) {
	r, err := blocks.ReadRecipe(f.Recipe(id))
	if err != nil {
		return r, Manifest{}, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	m, err := Parse(r.Meta)
	if err == nil && m.ID != id {
		err = fmt.Errorf("%w: %s holds the checkpoint %q", ErrUnusable, f.Recipe(id), m.ID)
	}
	for i := range r.Files {
		if !isFile(r.Files[i].Name) {
			err = fmt.Errorf("%w: it has the file %.100q", ErrUnusable, r.Files[i].Name)
		}
	}
	m.Size, m.Whole = r.Stored, 0
	for i := range r.Files {
		m.Whole += r.Files[i].Size
	}
	return r, m, err
}

package blocks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Report is what Check found.
type Report struct {
	Recipes int   `json:"recipes"` // all, lost ones included
	Packs   int   `json:"packs"`
	Blocks  int   `json:"blocks"`
	Bytes   int64 `json:"bytes"` // of all packs
	// Damage says in one sentence each what is not as it was written.
	Damage []string `json:"damage"`
	// Left says in one sentence each what cannot be told anything of: the system does not give it
	// back, or a newer program made it.
	Left []string `json:"left"`
	// Aside are the files, by their paths, that damaged packs have become. What was whole of them
	// is in others. They may go.
	Aside []string `json:"aside"`
	// Lost are the recipes that cannot be restored because of that, by their paths, and why.
	Lost map[string]string `json:"lost"`
}

// Check finds out whether everything is there that the recipes need; with readData it reads every
// byte. It changes nothing.
func (s *Store) Check(ctx context.Context, readData bool) (Report, error) {
	r := Report{Lost: map[string]string{}}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	release, err := s.share(ctx)
	if err != nil {
		return r, err
	}
	defer release()
	_, err = s.check(ctx, readData, &r)
	return r, err
}

// check returns the names of the packs that are not as they were. The lock is held.
func (s *Store) check(ctx context.Context, readData bool, r *Report) (bad []string, err error) {
	paths, err := s.recipes()
	if err != nil {
		return nil, err
	}
	if err := s.refresh(); err != nil { // what has been put up to here is known
		return nil, err
	}
	s.mu.Lock()
	packs := slices.SortedFunc(maps.Values(s.packs), func(a, b *pack) int { return strings.Compare(a.name, b.name) })
	for name, why := range s.broken {
		if stays(why) {
			r.Left = append(r.Left, why.Error())
			continue
		}
		bad = append(bad, name)
		r.Damage = append(r.Damage, why.Error())
	}
	r.Packs, r.Blocks = len(packs)+len(s.broken), s.index.blocks
	s.mu.Unlock()
	damagedBlocks := map[ID]error{}
	for _, p := range packs {
		r.Bytes += p.size
		if !readData {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found := len(r.Damage)
		switch err := s.readPack(p, damagedBlocks, r); {
		case err == nil:
		case stays(err):
			r.Left = append(r.Left, err.Error())
			continue
		default:
			return nil, err
		}
		if len(r.Damage) > found {
			bad = append(bad, p.name)
		}
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := s.checkRecipe(path, damagedBlocks)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // deleted meanwhile
		case err != nil && stays(err):
			r.Left = append(r.Left, fmt.Sprintf("%s: %v", path, err))
		case errors.Is(err, ErrDamaged):
			r.Lost[path] = err.Error()
		case err != nil:
			return nil, err
		}
		r.Recipes++
	}
	slices.Sort(r.Damage)
	slices.Sort(r.Left)
	return bad, nil
}

// readPack reads every byte of a pack, and adds to what is damaged.
func (s *Store) readPack(p *pack, blocks map[ID]error, r *Report) error {
	f, err := s.disk.Open(p.path)
	if err != nil {
		return refused("the pack "+p.name, err)
	}
	defer f.Close()
	stored := make([]byte, len(packMagic))
	if err := p.readAt(f, stored, 0); err != nil {
		return err
	}
	if string(stored) != packMagic {
		r.Damage = append(r.Damage, damaged("the pack %s does not begin as a pack does", p.name).Error())
	}
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	var raw []byte
	for i := range p.entries {
		e := &p.entries[i]
		stored = append(stored[:0], make([]byte, headerSize+int(e.stored))...)
		if err := p.readAt(f, stored, int64(e.offset)); err != nil {
			return err
		}
		if raw, err = e.unpack(d, stored[headerSize:], raw[:0]); err != nil {
			blocks[e.id] = fmt.Errorf("the pack %s: %w", p.name, err)
			r.Damage = append(r.Damage, blocks[e.id].Error())
		} else if string(stored[:headerSize]) != string(e.header()) {
			r.Damage = append(r.Damage, damaged("the head of block %s in the pack %s has changed", e.id, p.name).Error())
		}
	}
	return nil
}

// checkRecipe fails with ErrDamaged where a recipe's files cannot be restored.
func (s *Store) checkRecipe(path string, damagedBlocks map[ID]error) error {
	r, err := ReadRecipe(path)
	if err != nil {
		return err
	}
	for i := range r.Files {
		f := &r.Files[i]
		if f.Size == 0 {
			continue
		}
		chain, err := s.of(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		for j, id := range chain.list {
			if id == zero {
				continue
			}
			if damagedBlocks[id] != nil {
				return fmt.Errorf("%s: %w", f.Name, damagedBlocks[id])
			}
			at, ok := s.find(id)
			if !ok {
				if err := s.checkPatched(chain.patched, id, damagedBlocks); err != nil {
					return fmt.Errorf("%s: %w", f.Name, err)
				}
				continue
			}
			if raw := int64(at.pack.entries[at.at].raw); raw != min(Unit, f.Size-int64(j)*Unit) {
				return fmt.Errorf("%s: %w", f.Name, damaged("block %s has another size than its place", id))
			}
		}
	}
	return nil
}

// checkPatched fails with ErrDamaged where a page cannot be made that is no block itself.
func (s *Store) checkPatched(pages patchedPages, id ID, damagedBlocks map[ID]error) error {
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	_, err := pages.page(id, func(id ID) ([]byte, error) {
		at, ok := s.find(id)
		switch {
		case !ok:
			return nil, nil
		case damagedBlocks[id] != nil:
			return nil, damagedBlocks[id]
		}
		return at.pack.read(s.disk, d, at.at)
	})
	return err
}

// lostSuffix is the end of the names that recipes get which cannot be restored.
const lostSuffix = ".lost"

// Repair reads every byte, rewrites packs that are damaged, with whatever of them is whole, and
// sets them and those recipes aside, under other names, that cannot be restored any more. It
// returns what it found. Nobody else uses the store meanwhile. What is put afterwards and has
// something in common with what was lost is stored again. What the system does not let it read, and
// what a newer program made, it leaves as it is, and sets no recipe aside then.
func (s *Store) Repair(ctx context.Context) (Report, error) {
	r := Report{Lost: map[string]string{}}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	alone := s.collector()
	if _, err := alone.TryLockContext(ctx, lockPoll); err != nil {
		return r, err
	}
	defer alone.Close()
	release, err := s.own(ctx)
	if err != nil {
		return r, err
	}
	defer release()
	bad, err := s.check(ctx, true, &r)
	if err != nil {
		return r, err
	}
	repaired := Report{Lost: map[string]string{}, Damage: r.Damage, Left: r.Left}
	for _, name := range bad {
		aside, err := s.salvage(ctx, name)
		switch {
		case err == nil:
			repaired.Aside = append(repaired.Aside, aside)
		case stays(err):
			repaired.Left = append(repaired.Left, err.Error())
		default:
			return r, err
		}
	}
	found := Report{Lost: repaired.Lost}
	if _, err := s.check(ctx, false, &found); err != nil {
		return r, err
	}
	repaired.Recipes, repaired.Packs, repaired.Blocks, repaired.Bytes = found.Recipes, found.Packs, found.Blocks, found.Bytes
	r = repaired
	if len(r.Left) > 0 { // what that has may be all that they lack
		return r, nil
	}
	for path := range r.Lost {
		if err := s.disk.Rename(path, path+lostSuffix); err != nil {
			return r, err
		}
		if err := s.disk.SyncDir(filepath.Dir(path)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// salvage rewrites a pack, as far as it is whole, and its index with it; the old one gets
// another name, which it returns.
func (s *Store) salvage(ctx context.Context, name string) (aside string, err error) {
	path := filepath.Join(s.dir, name+packSuffix)
	f, err := s.disk.Open(path)
	if err != nil {
		return "", refused("the pack "+name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", refused("the pack "+name, err)
	}
	w := packer{disk: s.disk, dir: s.dir}
	defer w.abort()
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	there := map[ID]bool{}
	keep := func(e entry, stored []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if there[e.id] {
			return nil
		}
		there[e.id] = true
		return w.add(e.id, e.how, int(e.raw), stored)
	}
	// Where the index is good, a block whose head has changed does not hide those behind it.
	if p, err := openPack(s.disk, s.dir, name); err == nil {
		for i := range p.entries {
			e := p.entries[i]
			stored := make([]byte, e.stored)
			err := p.readAt(f, stored, int64(e.offset)+int64(headerSize))
			if err == nil {
				_, err = e.unpack(d, stored, nil)
			}
			if err == nil {
				err = keep(e, stored)
			}
			if err != nil && (stays(err) || !errors.Is(err, ErrDamaged)) {
				return "", err
			}
		}
	} else if err := scan(io.NewSectionReader(f, 0, min(info.Size(), maxPack)), d, keep); err != nil && (stays(err) || !errors.Is(err, ErrDamaged)) {
		return "", fmt.Errorf("the pack %s: %w", name, err)
	}
	if err := w.finish(); err != nil {
		return "", err
	}
	if err := s.disk.SyncDir(s.dir); err != nil {
		return "", err
	}
	aside = strings.TrimSuffix(path, packSuffix) + asideSuffix
	if err := s.disk.Rename(path, aside); err != nil {
		return "", err
	}
	return aside, s.disk.SyncDir(s.dir)
}

package blocks

import (
	"context"
	"errors"
	"fmt"
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
	// Lost are the recipes that cannot be restored because of that, by their paths, and why.
	Lost map[string]string `json:"lost"`
}

// Check finds out whether everything is there that the recipes need; with readData it reads every byte. It changes nothing.
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

// check returns the packs that are not as they were, true for those that have to be rewritten, false for those that cannot be read at all. The lock
// is held.
func (s *Store) check(ctx context.Context, readData bool, r *Report) (bad map[string]bool, err error) {
	paths, err := s.recipes()
	if err != nil {
		return nil, err
	}
	if err := s.refresh(); err != nil { // what has been put up to here is known
		return nil, err
	}
	s.mu.Lock()
	packs := slices.SortedFunc(maps.Values(s.packs), func(a, b *pack) int { return strings.Compare(a.name, b.name) })
	bad = map[string]bool{}
	for name, why := range s.broken {
		bad[name] = errors.Is(why, ErrDamaged)
		r.Damage = append(r.Damage, why.Error())
	}
	r.Packs, r.Blocks = len(packs)+len(bad), len(s.index)
	s.mu.Unlock()
	slices.Sort(r.Damage)
	damagedBlocks := map[ID]error{}
	for _, p := range packs {
		r.Bytes += p.size
		if !readData {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.readPack(p, damagedBlocks, bad); err != nil {
			return nil, err
		}
	}
	for _, why := range damagedBlocks {
		r.Damage = append(r.Damage, why.Error())
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := s.checkRecipe(path, damagedBlocks)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // deleted meanwhile
		case errors.Is(err, ErrDamaged):
			r.Lost[path] = err.Error()
		case err != nil:
			return nil, err
		}
		r.Recipes++
	}
	return bad, nil
}

// readPack reads every block of a pack.
func (s *Store) readPack(p *pack, blocks map[ID]error, bad map[string]bool) error {
	f, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	var stored, raw []byte
	for i := range p.entries {
		e := &p.entries[i]
		stored = append(stored[:0], make([]byte, headerSize+int(e.stored))...)
		_, err := f.ReadAt(stored, int64(e.offset))
		if err == nil && string(stored[:headerSize]) != string(e.header()) {
			err = damaged("the head of block %s has changed", e.id)
		}
		if err == nil {
			raw, err = e.unpack(d, stored[headerSize:], raw[:0])
		}
		if err != nil {
			bad[p.name] = true
			blocks[e.id] = fmt.Errorf("the pack %s: %w", p.name, err)
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
		chain, err := s.chain(f.List, f.units())
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		for j, id := range chain[0].list {
			if id == zero {
				continue
			}
			if damagedBlocks[id] != nil {
				return fmt.Errorf("%s: %w", f.Name, damagedBlocks[id])
			}
			at, ok := s.find(id)
			if !ok {
				return fmt.Errorf("%s: %w", f.Name, damaged("block %s is missing", id))
			}
			if raw := int64(at.pack.entries[at.at].raw); raw != min(Unit, f.Size-int64(j)*Unit) {
				return fmt.Errorf("%s: %w", f.Name, damaged("block %s has another size than its place", id))
			}
		}
	}
	return nil
}

// lostSuffix is the end of the names that recipes get which cannot be restored.
const lostSuffix = ".lost"

// Repair reads every byte, writes packs anew that are damaged, with whatever of them is whole, and sets those recipes aside, under another name, that
// cannot be restored any more. It returns what it found. Nobody else uses the store meanwhile. What is put afterwards
// and has something in common with what was lost is stored anew. While there are packs that the system does not let it read, it leaves those as they
// are, and sets no recipe aside.
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
	unreadable := false
	for name, mend := range bad {
		if !mend { // it may be readable again
			unreadable = true
			continue
		}
		if err := s.salvage(ctx, name); err != nil {
			return r, err
		}
	}
	s.mu.Lock()
	s.index = nil // it has places in packs that are gone
	s.mu.Unlock()
	repaired := Report{Lost: map[string]string{}}
	if _, err := s.check(ctx, false, &repaired); err != nil {
		return r, err
	}
	repaired.Damage = r.Damage
	r = repaired
	if unreadable { // what it has may be all that they lack
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

// salvage writes a pack anew, as far as it is whole, and its index with it.
func (s *Store) salvage(ctx context.Context, name string) error {
	path := filepath.Join(s.dir, name+packSuffix)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
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
			if _, err := f.ReadAt(stored, int64(e.offset)+int64(headerSize)); err != nil {
				continue
			}
			if _, err := e.unpack(d, stored, nil); err != nil {
				continue
			}
			if err := keep(e, stored); err != nil {
				return err
			}
		}
	} else if err := scan(f, d, keep); err != nil && !errors.Is(err, ErrDamaged) {
		return err
	}
	if err := w.finish(); err != nil {
		return err
	}
	if err := s.disk.SyncDir(s.dir); err != nil {
		return err
	}
	if err := s.disk.Remove(path); err != nil {
		return err
	}
	return s.disk.SyncDir(s.dir)
}

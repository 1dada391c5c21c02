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
	"time"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zstd"
)

const (
	// batch is how many bytes of packs are rewritten before the old ones are deleted: as much as a
	// collection takes on top, at most.
	batch = 64 << 20
	// files is how many packs are deleted in one go, at most: others wait for that.
	files = 32
	// small and many: of packs that are smaller than that, in bytes, so many are not left.
	small = 1 << 20
	many  = 64
)

// Collect gives back the room of blocks that no recipe needs, and of what was left half written; it
// returns how many bytes that is. Others go on using the store meanwhile, except for the moments in
// which packs are deleted. Where it is cut off, what it has done stays done. While another
// collects, it does nothing.
//
// It fails with ErrDamaged where a recipe cannot be read, as what that needs cannot be told then;
// Repair helps.
func (s *Store) Collect(ctx context.Context) (freed int64, err error) {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	alone := s.collector()
	if ok, err := alone.TryLock(); !ok || err != nil {
		return 0, err
	}
	defer alone.Close()
	c := collection{s: s, ctx: ctx, seen: map[string]state{}, live: map[string]bits{}}
	for {
		n, err := c.batch()
		freed += n
		if err != nil || len(c.candidates) == 0 {
			return freed, err
		}
	}
}

// collector is a lock that is held by who deletes packs.
func (s *Store) collector() *flock.Flock {
	return s.flock("collecting")
}

// collection is a Collect under way.
type collection struct {
	s   *Store
	ctx context.Context

	seen map[string]state // recipes that are in live, by path
	live map[string]bits  // the entries that are needed, by the pack's name; of a block in several packs, those in one

	chosen     bool
	candidates []*pack // packs that are to go and have not been in a batch yet

	victims []*pack         // packs to go, of this batch
	moved   map[ID]struct{} // what of them lies elsewhere now
	grown   int64           // by so many bytes
}

// state tells a file from another that takes its name.
type state struct {
	size int64
	time time.Time
}

// batch rewrites some packs without what is not needed.
func (c *collection) batch() (freed int64, err error) {
	if err := c.prepare(); err != nil {
		return 0, err
	}
	release, err := c.s.own(c.ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	return c.drop()
}

// prepare finds out what is needed and copies it out of the packs that are to go.
func (c *collection) prepare() error {
	release, err := c.s.share(c.ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := c.mark(); err != nil {
		return err
	}
	if !c.chosen {
		c.choose()
	}
	c.next()
	return c.rewrite()
}

// mark adds what the recipes need that were not there before. The index is up to date then.
func (c *collection) mark() error {
	paths, err := c.s.recipes()
	if err != nil {
		return err
	}
	direct := map[ID]int{} // lists of recipes, and how long they are
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		now := state{info.Size(), info.ModTime()}
		if c.seen[path] == now {
			continue
		}
		r, err := ReadRecipe(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range r.Files {
			if f := &r.Files[i]; f.Size > 0 {
				direct[f.List] = f.units()
			}
		}
		c.seen[path] = now
	}
	if err := c.s.refresh(); err != nil { // what has been put up to here is known
		return err
	}
	for id, units := range direct {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := c.markList(id, units, direct); err != nil {
			return c.s.explain(err)
		}
	}
	return nil
}

// need marks blocks.
func (c *collection) need(ids list) {
	c.s.each(ids, func(_ *ID, at place) {
		if at.pack == nil {
			return
		}
		if c.live[at.pack.name] == nil {
			c.live[at.pack.name] = newBits(len(at.pack.entries))
		}
		c.live[at.pack.name].set(int(at.at))
	})
}

// markList marks what a list names, and what the pages are made of that it tells as patches. Where
// its base is among those that are marked anyway, that is only what it does not copy from there, as
// what it has patches for is among what the base names.
func (c *collection) markList(id ID, units int, direct map[ID]int) error {
	at, ok := c.s.find(id)
	if !ok {
		return damaged("the list %s is missing", id)
	}
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	b, err := at.pack.read(c.s.disk, d, at.at)
	if err != nil {
		return err
	}
	head, steps, err := parseListHead(b, units)
	if err != nil {
		return err
	}
	if _, both := direct[head.base]; both && head.depth > 0 {
		named := list{id}
		if err := literals(head, steps, func(id ID) { named = append(named, id) }); err != nil {
			return err
		}
		c.need(named)
		return nil
	}
	chain, err := c.s.chain(id, units)
	if err != nil {
		return err
	}
	c.need(chain.ids)
	c.need(chain.list)
	c.need(chain.patched.roots(chain.list, func(id ID) bool {
		_, ok := c.s.find(id)
		return ok
	}))
	return nil
}

// choose finds the packs that hold what nobody needs, or are too many small ones; first those that
// give room without taking any.
//
// All that is not needed goes, however little of a pack it is: who deletes a machine wants it to be
// gone.
func (c *collection) choose() {
	c.chosen = true
	c.s.mu.Lock()
	packs := slices.Collect(maps.Values(c.s.packs))
	c.s.mu.Unlock()
	smalls := 0
	for _, p := range packs {
		if p.size < small {
			smalls++
		}
	}
	var mixed []*pack
	for _, p := range packs {
		switch n := len(c.needed(p)); {
		case n == 0:
			c.candidates = append(c.candidates, p)
		case n < len(p.entries) || smalls > many && p.size < small:
			mixed = append(mixed, p)
		}
	}
	c.candidates = append(c.candidates, mixed...)
}

// next takes as many of the candidates as one batch may be.
func (c *collection) next() {
	c.victims, c.moved, c.grown = nil, map[ID]struct{}{}, 0
	var taken int64 // by rewriting
	for len(c.candidates) > 0 && taken < batch && len(c.victims) < files {
		p := c.candidates[0]
		c.candidates = c.candidates[1:]
		c.victims = append(c.victims, p)
		if len(c.live[p.name]) > 0 {
			taken += p.size
		}
	}
}

// needed are the entries of a pack that are to be copied.
func (c *collection) needed(p *pack) (all []int) {
	live := c.live[p.name]
	for i := range p.entries {
		if live.has(i) {
			all = append(all, i)
		}
	}
	return all
}

// rewrite copies what is needed of the victims. One that is damaged is none any more.
func (c *collection) rewrite() error {
	w := packer{disk: c.s.disk, dir: c.s.dir}
	defer w.abort()
	var going []*pack
	for _, p := range c.victims {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		err := c.copy(p, &w)
		if errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		going = append(going, p)
	}
	c.victims = going
	if err := w.finish(); err != nil {
		return err
	}
	c.grown = w.bytes
	return c.s.disk.SyncDir(c.s.dir)
}

// copy copies what is needed of a pack. What has changed since it was written is not passed on.
func (c *collection) copy(p *pack, w *packer) error {
	needed := c.needed(p)
	if len(needed) == 0 {
		return nil
	}
	f, err := c.s.disk.Open(p.path)
	if err != nil {
		return refused("the pack "+p.name, err)
	}
	defer f.Close()
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	var stored, raw []byte
	for _, i := range needed {
		e := &p.entries[i]
		stored = append(stored[:0], make([]byte, e.stored)...)
		if err := p.readAt(f, stored, int64(e.offset)+int64(headerSize)); err != nil {
			return err
		}
		if raw, err = e.unpack(d, stored, raw[:0]); err != nil {
			return fmt.Errorf("the pack %s: %w", p.name, err)
		}
		if err := w.add(e.id, e.how, int(e.raw), stored); err != nil {
			return err
		}
		c.moved[e.id] = struct{}{}
	}
	return nil
}

// drop deletes the victims, unless somebody has come to need something of them meanwhile. Nobody
// else uses the store.
func (c *collection) drop() (freed int64, err error) {
	if err := c.mark(); err != nil {
		return 0, err
	}
	if err := c.sweep(); err != nil {
		return 0, err
	}
	freed = -c.grown
	for _, p := range c.victims {
		if c.neededStill(p) {
			continue
		}
		if err := c.s.disk.Remove(p.path); err != nil {
			return freed, err
		}
		freed += p.size
	}
	return freed, c.s.disk.SyncDir(c.s.dir)
}

// neededStill says whether something of a pack is needed that was not copied: somebody has put it
// again since.
func (c *collection) neededStill(p *pack) bool {
	for _, i := range c.needed(p) {
		if _, moved := c.moved[p.entries[i].id]; !moved {
			return true
		}
	}
	return false
}

// sweep removes what is half written: nobody writes while the lock is our own.
func (c *collection) sweep() error {
	entries, err := os.ReadDir(c.s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), unfinished) {
			if err := c.s.disk.Remove(filepath.Join(c.s.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

package blocks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zstd"
)

const (
	// batch is how many bytes of packs are rewritten before the old ones are deleted: as much as a collection takes on top, at most.
	batch = 64 << 20
	// small and many: of packs that are smaller than that, in bytes, so many are not left.
	small = 1 << 20
	many  = 64
)

// Collect gives back the room of blocks that no recipe needs, and of what was left half written; it returns how many bytes that is. Others
// go on using the store meanwhile, except for the moments in which packs are deleted. Where it is cut off, what it has done stays done. While another
// collects, it does nothing.
//
// It fails with ErrDamaged where a recipe cannot be read, as what that needs cannot be told then; Repair helps.
func (s *Store) Collect(ctx context.Context) (freed int64, err error) {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	alone := s.collector()
	if ok, err := alone.TryLock(); !ok || err != nil {
		return 0, err
	}
	defer alone.Close()
	c := collection{s: s, ctx: ctx, seen: map[string]state{}, live: map[ID]bool{}}
	for more := true; more; {
		n, err := c.batch()
		freed += n
		if err != nil {
			return freed, err
		}
		more = len(c.victims) > 0
	}
	return freed, nil
}

// collector is a lock that is held by who deletes packs.
func (s *Store) collector() *flock.Flock {
	return flock.New(filepath.Join(s.dir, "collecting"), flock.SetPermissions(0o600))
}

// collection is a Collect under way.
type collection struct {
	s   *Store
	ctx context.Context

	seen    map[string]state // recipes that are in live, by path
	live    map[ID]bool      // blocks that are needed
	skipped map[string]bool  // packs that stay though not all of them is needed

	victims []*pack     // packs to go, of this batch
	moved   map[ID]bool // what of them lies elsewhere now
	grown   int64       // by so many bytes
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
	c.choose()
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

// markList marks what a list names. Where its base is among those that are marked anyway, that is only what it does not copy from there.
func (c *collection) markList(id ID, units int, direct map[ID]int) error {
	at, ok := c.s.find(id)
	if !ok {
		return damaged("the list %s is missing", id)
	}
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	b, err := at.pack.read(d, at.at)
	if err != nil {
		return err
	}
	head, steps, err := parseListHead(b, units)
	if err != nil {
		return err
	}
	if _, both := direct[head.base]; both && head.depth > 0 {
		c.live[id] = true
		return literals(head, steps, func(id ID) { c.live[id] = true })
	}
	chain, err := c.s.chain(id, units)
	if err != nil {
		return err
	}
	for i := range chain {
		c.live[chain[i].id] = true
	}
	for _, id := range chain[0].list {
		c.live[id] = true
	}
	return nil
}

// choose takes packs that hold what nobody needs, or of which there are many small ones, for this batch.
//
// All that is not needed goes, however little of a pack it is: who deletes a machine wants it to be gone.
func (c *collection) choose() {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.victims, c.moved, c.grown = nil, map[ID]bool{}, 0
	smalls := 0
	for name, p := range s.packs {
		if p.size < small {
			smalls++
		}
		if !c.skipped[name] && c.needed(p) == 0 {
			c.victims = append(c.victims, p)
		}
	}
	if len(c.victims) > 0 { // first what gives room without taking any
		return
	}
	var size int64
	for name, p := range s.packs {
		if size >= batch || c.skipped[name] || !(smalls > many && p.size < small) && c.needed(p) == len(p.entries) {
			continue
		}
		c.victims = append(c.victims, p)
		size += p.size
	}
}

// needed is how many blocks of a pack are needed and lie in no other. s.mu is held.
func (c *collection) needed(p *pack) (n int) {
	for i := range p.entries {
		if !c.dead(p, i) {
			n++
		}
	}
	return n
}

func (c *collection) dead(p *pack, at int) bool {
	id := p.entries[at].id
	return !c.live[id] || c.s.index[id] != place{p, int32(at)}
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
			c.skip(p)
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

func (c *collection) skip(p *pack) {
	if c.skipped == nil {
		c.skipped = map[string]bool{}
	}
	c.skipped[p.name] = true
}

// copy copies what is needed of a pack. What has changed since it was written is not passed on.
func (c *collection) copy(p *pack, w *packer) error {
	c.s.mu.Lock()
	var needed []int
	for i := range p.entries {
		if !c.dead(p, i) {
			needed = append(needed, i)
		}
	}
	c.s.mu.Unlock()
	if len(needed) == 0 {
		return nil
	}
	f, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	var stored, raw []byte
	for _, i := range needed {
		e := &p.entries[i]
		stored = append(stored[:0], make([]byte, e.stored)...)
		if _, err := f.ReadAt(stored, int64(e.offset)+int64(headerSize)); err != nil {
			return damaged("the pack %s: %v", p.name, err)
		}
		if raw, err = e.unpack(d, stored, raw[:0]); err != nil {
			return fmt.Errorf("the pack %s: %w", p.name, err)
		}
		if err := w.add(e.id, e.how, int(e.raw), stored); err != nil {
			return err
		}
		c.moved[e.id] = true
	}
	return nil
}

// drop deletes the victims, unless somebody has come to need something of them meanwhile. Nobody else uses the store.
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
			c.skip(p)
			continue
		}
		if err := c.s.disk.Remove(p.path); err != nil {
			return freed, err
		}
		freed += p.size
	}
	return freed, c.s.disk.SyncDir(c.s.dir)
}

// neededStill says whether a block of a pack is needed that lies in no pack that stays.
func (c *collection) neededStill(p *pack) bool {
	going := map[string]bool{}
	for _, v := range c.victims {
		going[v.name] = true
	}
	for i := range p.entries {
		id := p.entries[i].id
		if !c.live[id] || c.moved[id] {
			continue
		}
		if at, ok := c.s.find(id); !ok || going[at.pack.name] {
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

package blocks

import (
	"slices"

	"github.com/klauspost/compress/zstd"
)

// chain is a stored list with those that it is based on. A list takes 32 bytes a page of its file,
// so of those in between only the names are kept.
type chain struct {
	ids  []ID // the list's, its base's, and so on
	list list // the first
	end  list // the last, which has no base

	patched patchedPages

	// Where the list is a frame, there are these and no lists.
	frame     []byte // the bytes of the file
	endFrame  []byte // those of its base, or of itself where it has none
	endStored []byte // what that is stored as
}

// of reads the list of a file.
func (s *Store) of(f *File) (chain, error) {
	c, err := s.chain(f.List, f.units())
	if err == nil && c.frame != nil && int64(len(c.frame)) != f.Size {
		err = damaged("the list %s is of %d bytes, the file of %d", f.List, len(c.frame), f.Size)
	}
	return c, err
}

// chain reads a list of so many units, and what it is based on.
func (s *Store) chain(id ID, units int) (chain, error) {
	var c chain
	var heads []listHead
	var steps [][]byte
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	for next := id; ; {
		at, ok := s.find(next)
		if !ok {
			return c, damaged("the list %s is missing", next)
		}
		b, err := at.pack.read(s.disk, d, at.at)
		if err != nil {
			return c, err
		}
		head, rest, err := parseListHead(b, units)
		if err != nil {
			return c, err
		}
		switch n := len(heads); {
		case n > 0 && head.depth != heads[n-1].depth-1:
			return c, damaged("the list %s is not as deep as those say that are based on it", next)
		case n > 0 && head.frame != heads[n-1].frame:
			return c, damaged("the list %s is of another kind than those that are based on it", next)
		}
		c.ids, heads, steps = append(c.ids, next), append(heads, head), append(steps, rest)
		if head.depth == 0 {
			break
		}
		next, units = head.base, -1
	}
	if heads[0].frame {
		return c, c.decode(heads, steps)
	}
	for i := len(heads) - 1; i >= 0; i-- {
		var err error
		c.list, err = parseSteps(heads[i], steps[i], c.list, func(id, base ID, patch []byte) {
			if c.patched == nil {
				c.patched = patchedPages{}
			}
			if _, known := c.patched[id]; !known { // what is behind a page is in a list before its own, so there is an end to it
				c.patched[id] = patched{base, slices.Clone(patch)}
			}
		})
		if err != nil {
			return c, err
		}
		steps[i] = nil
		if i == len(heads)-1 {
			c.end = c.list
		}
	}
	return c, nil
}

// decode reads frames; the last one has no base.
func (c *chain) decode(heads []listHead, frames [][]byte) (err error) {
	last := len(frames) - 1
	c.endStored = frames[last]
	if c.endFrame, err = decodeFrame(heads[last], frames[last], nil); err != nil {
		return err
	}
	c.frame = c.endFrame
	if last > 0 {
		c.frame, err = decodeFrame(heads[0], frames[0], c.endFrame)
	}
	return err
}

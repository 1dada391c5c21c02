package blocks

import (
	"slices"

	"github.com/klauspost/compress/zstd"
)

// chain is a stored list with those that it is based on. A list takes 32 bytes a page of its file, so of those in between only the names are kept.
type chain struct {
	ids  []ID // the list's, its base's, and so on
	list list // the first
	end  list // the last, which has no base

	patched patchedPages
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
		if n := len(heads); n > 0 && head.depth != heads[n-1].depth-1 {
			return c, damaged("the list %s is not as deep as those say that are based on it", next)
		}
		c.ids, heads, steps = append(c.ids, next), append(heads, head), append(steps, rest)
		if head.depth == 0 {
			break
		}
		next, units = head.base, -1
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

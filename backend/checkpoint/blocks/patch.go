package blocks

import (
	"encoding/binary"
	"errors"
)

// patch is how a page differs from the one at a place of the list that it is based on. A program
// changes a few bytes of most pages that it changes: a counter of references here, a time there.
type patch struct {
	from  int    // in the base
	bytes []byte // steps, each: how many bytes stay, how many follow, these
}

const (
	// largestPatch is how many bytes a patch has at most, else the page is stored: a quarter of it,
	// as compressing brings a page to a third.
	largestPatch = Unit / 4
	// mostPatches and mostPatchBytes bound what one list tells as patches: who reads it has all of
	// them in memory, and of the lists behind it, too.
	mostPatches    = 4096
	mostPatchBytes = 1 << 20
	// patchGap is how many bytes that are equal are told as different, as a step of its own takes
	// about as many.
	patchGap = 4
)

// diff tells how to make page of base, which is of the same length; nil where that takes more than
// largestPatch.
func diff(base, page []byte) []byte {
	b := make([]byte, 0, largestPatch)
	for done, i := 0, 0; ; {
		for i < len(page) && page[i] == base[i] {
			i++
		}
		if i == len(page) {
			return b
		}
		end := i + 1 // of what differs
		for j := end; j < len(page) && j-end < patchGap; j++ {
			if page[j] != base[j] {
				end = j + 1
			}
		}
		b = binary.AppendUvarint(b, uint64(i-done))
		b = binary.AppendUvarint(b, uint64(end-i))
		if len(b)+end-i > largestPatch {
			return nil
		}
		b = append(b, page[i:end]...)
		done, i = end, end
	}
}

var errPatch = errors.New("the patch is none")

// apply makes a page of a copy of what it is based on.
func apply(page, patch []byte) error {
	for rest := page; len(patch) > 0; {
		stay, n := binary.Uvarint(patch)
		if n <= 0 || stay > uint64(len(rest)) {
			return errPatch
		}
		rest, patch = rest[stay:], patch[n:]
		change, n := binary.Uvarint(patch)
		if n <= 0 || change > uint64(len(rest)) || change > uint64(len(patch)-n) {
			return errPatch
		}
		copy(rest, patch[n:n+int(change)])
		rest, patch = rest[change:], patch[n+int(change):]
	}
	return nil
}

// append writes the patch of the page id as a list has it.
func (p patch) append(b []byte, id ID) []byte {
	b = append(b, id[:]...)
	b = binary.AppendUvarint(b, uint64(p.from))
	b = binary.AppendUvarint(b, uint64(len(p.bytes)))
	return append(b, p.bytes...)
}

// parsePatch reads what append wrote.
func parsePatch(b []byte) (id ID, from uint64, patch, rest []byte, err error) {
	if len(b) < len(id) {
		return id, 0, nil, nil, listCutOff()
	}
	copy(id[:], b)
	b = b[len(id):]
	from, n := binary.Uvarint(b)
	if n <= 0 {
		return id, 0, nil, nil, listCutOff()
	}
	b = b[n:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > largestPatch || size > uint64(len(b)-n) {
		return id, 0, nil, nil, listCutOff()
	}
	return id, from, b[n : n+int(size)], b[n+int(size):], nil
}

// patched is a page that is no block of its own.
type patched struct {
	base  ID
	bytes []byte
}

// patchedPages are those that a list and the ones behind it tell as patches.
type patchedPages map[ID]patched

// roots gives the blocks that those pages of l are made of in the end which are no blocks
// themselves.
func (m patchedPages) roots(l list, isBlock func(ID) bool) (roots list) {
	seen := map[ID]bool{}
	for _, id := range l {
		for range maxDepth + 1 {
			p, ok := m[id]
			if !ok || seen[id] || isBlock(id) {
				break
			}
			seen[id] = true
			if _, more := m[p.base]; !more || isBlock(p.base) {
				if p.base != zero {
					roots = append(roots, p.base)
				}
				break
			}
			id = p.base
		}
	}
	return roots
}

// page makes a page that is no block of its own, or is zeros, and not to be changed; block gives
// the bytes of one that is, or nothing where there is none.
func (m patchedPages) page(id ID, block func(ID) ([]byte, error)) ([]byte, error) {
	if id == zero {
		return zeros, nil
	}
	var steps [][]byte // from the last on
	for at := id; ; {
		b, err := block(at)
		if err != nil {
			return nil, err
		}
		if b == nil && at == zero {
			b = zeros
		}
		if b != nil {
			if len(b) != Unit {
				return nil, damaged("block %s, the base of %s, is no page", at, id)
			}
			page := append(make([]byte, 0, Unit), b...)
			for i := len(steps) - 1; i >= 0; i-- {
				if err := apply(page, steps[i]); err != nil {
					return nil, damaged("block %s: %v", id, err)
				}
			}
			if idOf(page) != id {
				return nil, damaged("block %s has changed", id)
			}
			return page, nil
		}
		p, ok := m[at]
		if !ok || len(steps) > maxDepth {
			return nil, damaged("block %s is missing", at)
		}
		steps, at = append(steps, p.bytes), p.base
	}
}

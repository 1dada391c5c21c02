package blocks

import (
	"encoding/binary"
	"fmt"
)

// list names the blocks of a file, in order; zero stands for one of zeros alone, which is not
// stored.
type list []ID

var zero ID

// A list is stored as a block of its own, as steps that make it; most of them by copying from
// another list, its base. See FORMAT.md.
const (
	// listVersion is the latest one. A list is written as of the first that has what is in it,
	// which older programs read: plain steps, patches, or a frame.
	listVersion  = 3
	plainVersion = 1
	patchVersion = 2
	frameVersion = 3
	// maxDepth is how many lists have to be read for one, at most, beside the one at the end of the
	// chain.
	maxDepth = 16

	stepIDs   = 0 // these blocks
	stepZeros = 1 // so many zeros
	stepCopy  = 2 // so many of the base, from there on
	stepPatch = 3 // so many pages, each as what is different in it from one of the base
)

// listHead is the beginning of a stored list.
type listHead struct {
	depth int // how many bases are behind it
	base  ID  // where depth > 0
	units int // how many blocks it names, or the file in it would have
	frame bool
}

// appendListHead writes the beginning of a list; baseID counts where depth > 0.
func appendListHead(b []byte, version byte, depth int, baseID ID, units int) []byte {
	b = append(b, version, byte(depth))
	if depth > 0 {
		b = append(b, baseID[:]...)
	}
	return binary.AppendUvarint(b, uint64(units))
}

// encodeList writes l as steps from base, which is nil for none. Pages that have a patch are
// written as that, where they come first.
func encodeList(l list, depth int, baseID ID, base list, patches map[ID]patch) []byte {
	b := appendListHead(nil, plainVersion, depth, baseID, len(l))
	step := func(kind, n int) { b = binary.AppendUvarint(b, uint64(n)<<2|uint64(kind)) }
	var where map[ID]int // in base; made when it is needed
	at := 0              // where the last copy ended in base
	literal := 0         // where blocks begin that are in no step yet
	patched := map[ID]bool{}
	isPatch := func(id ID) bool { return patches[id].bytes != nil && !patched[id] }
	flush := func(end int) {
		for literal < end {
			n := 1
			if !isPatch(l[literal]) {
				for literal+n < end && !isPatch(l[literal+n]) {
					n++
				}
				step(stepIDs, n)
				for _, id := range l[literal : literal+n] {
					b = append(b, id[:]...)
				}
				literal += n
				continue
			}
			b[0] = patchVersion
			patched[l[literal]] = true
			for literal+n < end && isPatch(l[literal+n]) {
				patched[l[literal+n]] = true
				n++
			}
			step(stepPatch, n)
			for _, id := range l[literal : literal+n] {
				b = patches[id].append(b, id)
			}
			literal += n
		}
	}
	for i := 0; i < len(l); {
		n := 0
		if l[i] == zero {
			for i+n < len(l) && l[i+n] == zero {
				n++
			}
			flush(i)
			step(stepZeros, n)
			i += n
			at += n // usually, they are zeros there, too
			literal = i
			continue
		}
		from := at
		if from >= len(base) || base[from] != l[i] {
			if i+1 < len(l) && from+1 < len(base) && base[from+1] == l[i+1] && l[i+1] != zero { // one block has changed: the most frequent case
				i++
				at++
				continue
			}
			if where == nil {
				where = make(map[ID]int, len(base))
				for j := len(base) - 1; j >= 0; j-- {
					where[base[j]] = j
				}
			}
			var known bool
			if from, known = where[l[i]]; !known {
				i++
				at++
				continue
			}
		}
		for i+n < len(l) && from+n < len(base) && l[i+n] == base[from+n] && l[i+n] != zero {
			n++
		}
		flush(i)
		step(stepCopy, n)
		b = binary.AppendUvarint(b, uint64(from))
		i += n
		at = from + n
		literal = i
	}
	flush(len(l))
	return b
}

// parseListHead reads the beginning of a stored list of exactly so many units, and returns the
// steps.
func parseListHead(b []byte, units int) (h listHead, steps []byte, err error) {
	if len(b) > 0 && b[0] > listVersion {
		return h, nil, fmt.Errorf("a list of blocks: %w", ErrVersion)
	}
	if len(b) < 2 || b[0] == 0 || b[1] > maxDepth || b[0] == frameVersion && b[1] > 1 {
		return h, nil, damaged("a list of blocks is none")
	}
	h.frame, h.depth, b = b[0] == frameVersion, int(b[1]), b[2:]
	if h.depth > 0 {
		if len(b) < len(h.base) {
			return h, nil, listCutOff()
		}
		copy(h.base[:], b)
		b = b[len(h.base):]
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || n > maxUnits || units >= 0 && n != uint64(units) {
		return h, nil, damaged("a list of blocks has another length than its file")
	}
	h.units = int(n)
	return h, b[size:], nil
}

// maxUnits bounds a file: one of 64 GiB, whose list takes half a GiB of memory.
const maxUnits = 1 << 24

// parseSteps makes the list of h from its steps and its base, and gives each page that it tells as
// a patch to patched, whose bytes are part of b.
func parseSteps(h listHead, b []byte, base list, patched func(id, base ID, patch []byte)) (list, error) {
	l := make(list, 0, min(h.units, len(b)/len(ID{})+len(base)+1<<10)) // whatever is claimed
	for len(b) > 0 {
		v, size := binary.Uvarint(b)
		n := v >> 2
		if size <= 0 || n == 0 || n > uint64(h.units-len(l)) {
			return nil, damaged("a list of blocks is too long")
		}
		b = b[size:]
		switch v & 3 {
		case stepIDs:
			if uint64(len(b)) < n*uint64(len(ID{})) {
				return nil, listCutOff()
			}
			for range n {
				l = append(l, ID(b[:len(ID{})]))
				b = b[len(ID{}):]
			}
		case stepZeros:
			for range n {
				l = append(l, zero)
			}
		case stepCopy:
			from, size := binary.Uvarint(b)
			if size <= 0 || from > uint64(len(base)) || n > uint64(len(base))-from {
				return nil, damaged("a list of blocks copies what is not there")
			}
			b = b[size:]
			l = append(l, base[from:from+n]...)
		case stepPatch:
			for range n {
				id, from, patch, rest, err := parsePatch(b)
				if err != nil {
					return nil, err
				}
				if from >= uint64(len(base)) {
					return nil, damaged("a list of blocks changes what is not there")
				}
				l = append(l, id)
				patched(id, base[from], patch)
				b = rest
			}
		}
	}
	if len(l) != h.units {
		return nil, damaged("a list of blocks is too short")
	}
	return l, nil
}

// listCutOff is the error of a list that ends too soon.
func listCutOff() error { return damaged("a list of blocks is cut off") }

// literals gives the blocks that the steps of a list name themselves to each, but for zeros and
// those of its base.
func literals(h listHead, b []byte, each func(ID)) error {
	if h.frame {
		return nil
	}
	for left := uint64(h.units); len(b) > 0; {
		v, size := binary.Uvarint(b)
		n := v >> 2
		if size <= 0 || n == 0 || n > left {
			return damaged("a list of blocks is too long")
		}
		left -= n
		b = b[size:]
		switch v & 3 {
		case stepIDs:
			if uint64(len(b)) < n*uint64(len(ID{})) {
				return listCutOff()
			}
			for range n {
				each(ID(b[:len(ID{})]))
				b = b[len(ID{}):]
			}
		case stepZeros:
		case stepCopy:
			_, size := binary.Uvarint(b)
			if size <= 0 {
				return listCutOff()
			}
			b = b[size:]
		case stepPatch:
			for range n {
				id, _, _, rest, err := parsePatch(b)
				if err != nil {
					return err
				}
				each(id)
				b = rest
			}
		}
	}
	return nil
}

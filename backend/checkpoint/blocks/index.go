package blocks

import "hash/maphash"

// place is where a block lies; the zero value is nowhere.
type place struct {
	pack *pack
	at   int32 // in pack.entries
}

// bits are some of a pack's entries.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 == 1 }
func (b bits) set(i int)      { b[i/64] |= 1 << (i % 64) }

// aFew is how many blocks are looked up in one go, which keeps others from the index for less than
// a millisecond.
const aFew = 1 << 12

// index tells where blocks lie. It is a hash table of places alone, with open addressing: the names
// are in the packs' entries already, and there may be millions. Where several packs have a block,
// one counts.
type index struct {
	seed  maphash.Seed // names are chosen by who makes the blocks, who must not be able to make them lie close together
	packs []*pack      // by number; nil for one that is gone
	slots []uint64     // the pack's number in the upper half, one more than the entry's in the lower; their number is a power of two
	used  int          // how many are not free

	blocks int // how many are known
}

const (
	slotFree     = 0
	slotGone     = 1<<64 - 1 // there was one
	slotsAtFirst = 1 << 10
)

func newIndex() *index { return &index{seed: maphash.MakeSeed(), slots: make([]uint64, slotsAtFirst)} }

func (x *index) place(slot uint64) place {
	return place{x.packs[slot>>32], int32(uint32(slot)) - 1}
}

// look finds the slot of a block, or else the one that it would take.
func (x *index) look(id *ID) (at int, found bool) {
	mask := uint64(len(x.slots) - 1)
	empty := -1
	for i := maphash.Bytes(x.seed, id[:]) & mask; ; i = (i + 1) & mask {
		switch slot := x.slots[i]; slot {
		case slotFree:
			if empty < 0 {
				empty = int(i)
			}
			return empty, false
		case slotGone:
			if empty < 0 {
				empty = int(i)
			}
		default:
			if p := x.place(slot); p.pack.entries[p.at].id == *id {
				return int(i), true
			}
		}
	}
}

// find says where a block lies.
func (x *index) find(id ID) place {
	if x == nil {
		return place{}
	}
	if at, ok := x.look(&id); ok {
		return x.place(x.slots[at])
	}
	return place{}
}

// add makes a pack's blocks known, but for those that lie elsewhere, too.
func (x *index) add(p *pack) {
	p.number = len(x.packs)
	x.packs = append(x.packs, p)
	x.enter(p)
}

func (x *index) enter(p *pack) {
	p.twins = 0
	for i := range p.entries {
		if x.used >= len(x.slots)/4*3 {
			x.grow()
		}
		at, known := x.look(&p.entries[i].id)
		switch {
		case !known:
			x.blocks++
			if x.slots[at] == slotFree {
				x.used++
			}
			x.slots[at] = uint64(p.number)<<32 | uint64(i+1)
		case x.place(x.slots[at]).pack != p:
			p.twins++
		}
	}
}

// grow makes room, half of it free.
func (x *index) grow() {
	old := x.slots
	n := 0
	for _, slot := range old {
		if slot != slotFree && slot != slotGone {
			n++
		}
	}
	size := len(old)
	for n >= size/2 {
		size *= 2
	}
	x.slots, x.used = make([]uint64, size), n
	for _, slot := range old {
		if slot != slotFree && slot != slotGone {
			p := x.place(slot)
			at, _ := x.look(&p.pack.entries[p.at].id)
			x.slots[at] = slot
		}
	}
}

// remove forgets packs. What another one of those that stay has, too, lies there from now on.
func (x *index) remove(packs []*pack, stay map[string]*pack) {
	for _, p := range packs {
		for i := range p.entries {
			if at, ok := x.look(&p.entries[i].id); ok && x.slots[at]>>32 == uint64(p.number) {
				x.slots[at] = slotGone
				x.blocks--
			}
		}
		x.packs[p.number] = nil
	}
	if len(packs) == 0 {
		return
	}
	for _, p := range stay {
		if p.twins > 0 {
			x.enter(p)
		}
	}
}

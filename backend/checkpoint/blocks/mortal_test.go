package blocks

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

var errDied = errors.New("the process was killed")

// mortal is a disk on which the process dies at the change number left (in its middle, where it is
// a write), and that forgets, when the power is cut, whatever was not synced. It is used by one
// goroutine.
type mortal struct {
	left      int // how many changes are made before it dies; -1 for all
	graveyard string
	random    *rand.Rand

	lengths map[string]int64    // of files that were written to, how much of them is durable
	names   map[string][]func() // by folder, how to take back what was done to names in it and is not durable, in order
	buried  int
}

func newMortal(graveyard string, random *rand.Rand) *mortal {
	return &mortal{left: -1, graveyard: graveyard, random: random, lengths: map[string]int64{}, names: map[string][]func(){}}
}

func (m *mortal) dies() bool {
	if m.left > 0 {
		m.left--
		return false
	}
	return m.left == 0
}

func (m *mortal) undo(path string, how func()) {
	dir := filepath.Dir(path)
	m.names[dir] = append(m.names[dir], how)
}

func (m *mortal) Open(path string) (input, error) { return osDisk{}.Open(path) }

func (m *mortal) Create(path string) (output, error) {
	if m.dies() {
		return nil, errDied
	}
	f, err := osDisk{}.Create(path)
	if err != nil {
		return nil, err
	}
	m.lengths[path] = 0
	m.undo(path, func() { _ = os.Remove(path) })
	return &mortalFile{m, f, path}, nil
}

func (m *mortal) Rename(from, to string) error {
	if m.dies() {
		return errDied
	}
	if _, err := os.Lstat(to); err == nil {
		m.bury(to)
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	m.lengths[to] = m.lengths[from]
	if _, known := m.lengths[from]; !known {
		delete(m.lengths, to)
	}
	delete(m.lengths, from)
	m.undo(to, func() { _ = os.Rename(to, from) })
	return nil
}

func (m *mortal) Remove(path string) error {
	if m.dies() {
		return errDied
	}
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	m.bury(path)
	return nil
}

// bury removes a file so that it can come back.
func (m *mortal) bury(path string) {
	m.buried++
	grave := filepath.Join(m.graveyard, string(rune('a'+m.buried%26))+newName())
	if err := os.Rename(path, grave); err != nil {
		panic(err)
	}
	length, known := m.lengths[path]
	delete(m.lengths, path)
	m.undo(path, func() {
		_ = os.Rename(grave, path)
		if known {
			m.lengths[path] = length
		}
	})
}

func (m *mortal) SyncDir(dir string) error {
	if m.dies() {
		return errDied
	}
	delete(m.names, dir)
	return nil
}

// powerCut loses what is not durable, or some of it. Names of one folder are lost from the latest
// on.
func (m *mortal) powerCut() {
	for _, undo := range m.names {
		keep := m.random.IntN(len(undo) + 1)
		for i := len(undo) - 1; i >= keep; i-- {
			undo[i]()
		}
	}
	for path, durable := range m.lengths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if lost := info.Size() - durable; lost > 0 {
			length := durable + m.random.Int64N(lost+1)
			_ = os.Truncate(path, length)
			if m.random.IntN(2) == 0 { // the length is there, the bytes are not
				_ = os.Truncate(path, info.Size())
			}
		}
	}
	m.names, m.lengths = map[string][]func(){}, map[string]int64{}
}

type mortalFile struct {
	m    *mortal
	file output
	path string
}

func (f *mortalFile) Write(b []byte) (int, error) {
	if f.m.dies() {
		n, _ := f.file.Write(b[:f.m.random.IntN(len(b)+1)])
		return n, errDied
	}
	return f.file.Write(b)
}

func (f *mortalFile) Sync() error {
	if f.m.dies() {
		return errDied
	}
	n, err := f.file.(io.Seeker).Seek(0, io.SeekEnd)
	if err == nil {
		f.m.lengths[f.path] = n
	}
	return err
}

func (f *mortalFile) Close() error { return f.file.Close() }

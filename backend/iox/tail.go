package iox

import (
	"bytes"
	"sync"
)

// TailSize is how many bytes a Tail keeps at most.
const TailSize = 4 << 10

// Tail keeps the last bytes that were written to it, for when a program fails. Any goroutine may
// use it; the zero value is empty.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - TailSize; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

// String returns what is kept, without what is no UTF-8.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.text, nil))
}

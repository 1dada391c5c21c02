package local

import (
	"bytes"
	"os"
	"sync"
)

const (
	// shows is what a runsc says (build/runsc, patch "lost files") whose machines come back whatever has become of a file that they had
	// open. Those of other builds would not, so they are shown no folder.
	shows = "forevervm: files that were open are lost"
	// checks is what a runsc says (build/runsc, patch "checked pages") that compares each page of a checkpoint that it reads.
	checks = "forevervm: saved pages are damaged"
)

// claims tells what a runsc says that it can do, by its digest: to look takes a tenth of a second.
type claims struct {
	mu    sync.Mutex
	known map[string]claim
}

type claim struct{ shows, checks bool }

func (c *claims) of(p Parts) claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known[p.RuntimeDigest]; ok {
		return known
	}
	b, err := os.ReadFile(p.Runsc)
	if err != nil {
		return claim{}
	}
	if c.known == nil {
		c.known = map[string]claim{}
	}
	c.known[p.RuntimeDigest] = claim{shows: bytes.Contains(b, []byte(shows)), checks: bytes.Contains(b, []byte(checks))}
	return c.known[p.RuntimeDigest]
}

// CanShow says whether machines of these parts can be shown a folder.
func (s *Store) CanShow(p Parts) bool { return s.claims.of(p).shows }

// CheckPages says whether these parts compare what they read of a machine's memory.
func (s *Store) CheckPages(p Parts) bool { return s.claims.of(p).checks }

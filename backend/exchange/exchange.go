// Package exchange is the person's folder of ForeverVM, and carries files between it and machines.
//
// What lies in the folder is copied into a machine's inbox when code there has to do with it, and
// what a machine puts into its outbox is copied into Results, into the machine's folder. Copies,
// because an open file of a folder that is shared may be lost to a machine that comes back once the
// person has changed it, because machines in Docker may be on another computer, and because nothing
// that code does to its copy reaches the person's file. A link in the folder is never followed, and
// what a machine calls its files never leads out of Results.
package exchange

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/forevervm/desktop/backend/machine"
)

// Where machines find them.
const (
	Inbox  = "/root/inbox"
	Outbox = "/root/outbox"
)

// Results is the part of the person's folder that machines' outboxes are brought to. It is in no
// inbox.
const Results = "Results"

// Bounds of what is carried.
const (
	maxInbox   = 2 << 30 // bytes of all that is in a machine's inbox
	maxResults = 5 << 30 // bytes of one machine's results
	maxNames   = 2000    // files and folders, in each direction
	maxDepth   = 8       // folders in folders
	maxPast    = 16      // versions of a file that are remembered
)

// Folder is the person's folder. It implements machine.Exchange.
type Folder struct {
	path  string // of the person's folder
	notes string // the folder of what is remembered of each machine
	log   *slog.Logger

	mu    sync.Mutex
	peers map[machine.ID]*peer
}

// peer is what is remembered of a machine.
type peer struct {
	mu   sync.Mutex // held while files are carried
	note note       // guarded by mu
}

// note is a peer's file.
type note struct {
	// Carried are the versions of each file that were brought into the inbox, the newest last.
	Carried map[string][]mark `json:"carried"`
	// Brought says of each file of the outbox what was brought to the person.
	Brought map[string]brought `json:"brought"`
	// Folder is the machine's folder in Results; empty before the first file.
	Folder string `json:"folder,omitempty"`
}

// mark tells one version of a file from another.
type mark struct {
	Size     int64 `json:"size"`
	Modified int64 `json:"modified"` // nanoseconds since 1970
}

// brought is a file of an outbox that lies in Results.
type brought struct {
	From mark   `json:"from"` // in the machine
	Name string `json:"name"` // under the machine's folder in Results, with slashes
	Here mark   `json:"here"` // as it was left there
}

// New returns the folder at path, which need not exist yet. What is to be remembered is kept in the
// folder notes.
func New(path, notes string, log *slog.Logger) (*Folder, error) {
	f := &Folder{path: path, notes: notes, log: log, peers: map[machine.ID]*peer{}}
	ids, err := openNotes(notes)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		f.peers[id] = f.read(id)
	}
	return f, nil
}

// read is what is remembered of a machine. What cannot be read is forgotten: everything is then
// brought again.
func (f *Folder) read(id machine.ID) *peer {
	p := &peer{}
	if err := readNote(f.notes, id, &p.note); err != nil {
		f.log.Warn("what was exchanged with a machine is not remembered", "machine", id, "err", err)
	}
	if p.note.Carried == nil {
		p.note.Carried = map[string][]mark{}
	}
	if p.note.Brought == nil {
		p.note.Brought = map[string]brought{}
	}
	return p
}

// keep writes what is remembered of a machine. p.mu is held.
func (f *Folder) keep(id machine.ID, p *peer) error { return writeNote(f.notes, id, p.note) }

// Concerns says whether code names the inbox or the outbox, now or earlier in that machine.
func (f *Folder) Concerns(id machine.ID, code string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.peers[id]; ok {
		return true
	}
	return strings.Contains(code, "inbox") || strings.Contains(code, "outbox")
}

// Forget drops what is remembered of a machine.
func (f *Folder) Forget(id machine.ID) {
	f.mu.Lock()
	p := f.peers[id]
	delete(f.peers, id)
	f.mu.Unlock()
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.Remove(noteFile(f.notes, id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		f.log.Warn("what was exchanged with a machine is still remembered", "machine", id, "err", err)
	}
}

func (f *Folder) peer(id machine.ID) *peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.peers[id]
	if p == nil {
		p = f.read(id)
		f.peers[id] = p
	}
	return p
}

// left is a sentence about what could not be carried; "" for nothing.
func left(what, why string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	const most = 5
	shown := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, fmt.Sprintf("%.100q", name))
	}
	rest := ""
	if more := len(names) - most; more > 0 {
		rest = fmt.Sprintf(" and %d more", more)
	}
	return what + " " + strings.Join(shown, ", ") + rest + ": " + why
}

// both joins two sentences.
func both(a, b string) string { return strings.TrimSpace(a + " " + b) }

// Package audit keeps a record of what crossed the line between machines and the rest of the
// computer: what the person allowed, shared, gave away or changed, and which token asked for it.
//
// The record is a file of JSON lines that only grows. Each line has a hash of itself and of the
// line before. So List sees when a line was changed, removed or put in. A program that can write
// the file can also rewrite the whole record, or cut its end off while no daemon runs. A person who
// has noted down the newest hash sees that.
package audit

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Action is what was done.
type Action string

const (
	Share      Action = "share"      // a folder with a machine
	Unshare    Action = "unshare"    // no longer
	Network    Action = "network"    // what a machine, or all of them, may reach
	Answer     Action = "answer"     // to a question about a host, or a permission
	Contact    Action = "contact"    // a machine reached a host, told once a day
	Settings   Action = "settings"   // others than those of the network
	Export     Action = "export"     // a document or a machine left as a file
	Import     Action = "import"     // a machine came from a file
	Connect    Action = "connect"    // an AI app
	Disconnect Action = "disconnect" // an AI app
	Account    Action = "account"    // of the hosted service
	Token      Action = "token"      // was made, revoked or allowed
	Person     Action = "person"     // of a team was added or removed, or got a new token
	Place      Action = "place"      // elsewhere was added or removed
	Secret     Action = "secret"     // was kept or forgotten, or went to a host, told once a day
	Purge      Action = "purge"      // a machine was deleted for good
	Update     Action = "update"     // of ForeverVM
	Move       Action = "move"       // of ForeverVM's files
)

// Entry is one thing that was done.
type Entry struct {
	N       int64     `json:"n"` // from 1
	At      time.Time `json:"at"`
	Action  Action    `json:"action"`
	By      string    `json:"by,omitempty"`      // the name of the token; "" for the owner's
	Program string    `json:"program,omitempty"` // what the program called itself
	Machine string    `json:"machine,omitempty"` // by name
	About   string    `json:"about,omitempty"`   // a folder, a host, an app
	Hash    string    `json:"hash,omitempty"`    // of this and all before
}

// maxText is the most bytes of a text in an entry.
const maxText = 500

// Page is a part of the record.
type Page struct {
	Entries []Entry // newest first
	// Broken is the number of the first entry that does not follow from the one before; 0 where the
	// whole record is as it was written.
	Broken int64
	Head   string // the newest entry's hash, which stands for the whole record; "" where it is empty
}

// Log is the record. All methods may be called from any goroutine.
type Log struct {
	path string

	mu   sync.Mutex
	last Entry // N and Hash of the newest
}

// Open continues the record in a file, which need not be there. A last line that was not written
// whole was never acknowledged, and is cut off.
func Open(path string) (*Log, error) {
	l := &Log{path: path}
	whole, torn := int64(0), false
	err := read(path, func(line []byte, ends bool) {
		if torn = !ends; torn {
			return
		}
		whole += int64(len(line))
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			l.last = e
		}
	})
	if err == nil && torn {
		err = os.Truncate(path, whole)
	}
	if err != nil {
		return nil, fmt.Errorf("the record in %s cannot be read: %w", path, err)
	}
	return l, nil
}

// Add appends an entry, and returns when it is on the disk. N, At and Hash are set here.
func (l *Log) Add(e Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.N, e.At = l.last.N+1, time.Now().UTC().Truncate(time.Millisecond)
	for _, text := range []*string{&e.By, &e.Program, &e.Machine, &e.About} {
		*text = clip(*text)
	}
	e.Hash = hash(l.last.Hash, e)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := appendSynced(l.path, append(line, '\n')); err != nil {
		return fmt.Errorf("the record cannot be written: %w", err)
	}
	l.last = e
	return nil
}

// List is a part of the record: so many entries before one, or the newest where before is 0.
func (l *Log) List(before int64, limit int) (Page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	page, previous := Page{Head: l.last.Hash}, Entry{}
	err := read(l.path, func(line []byte, _ bool) {
		var e Entry
		bad := json.Unmarshal(line, &e) != nil || e.N != previous.N+1 || e.Hash != hash(previous.Hash, e)
		if bad && page.Broken == 0 {
			page.Broken = previous.N + 1
		}
		previous = e
		if e.N == 0 || (before > 0 && e.N >= before) {
			return
		}
		if page.Entries = append(page.Entries, e); len(page.Entries) > limit {
			page.Entries = page.Entries[1:]
		}
	})
	if err != nil {
		return Page{}, fmt.Errorf("the record cannot be read: %w", err)
	}
	if page.Broken == 0 && previous.N != l.last.N { // the end is gone
		page.Broken = previous.N + 1
	}
	slices.Reverse(page.Entries)
	return page, nil
}

// hash is the SHA-256 of the hash before and the entry as JSON without its own, in hexadecimal.
func hash(previous string, e Entry) string {
	e.Hash = ""
	line, _ := json.Marshal(e) // texts, a number and a time
	sum := sha256.Sum256(append([]byte(previous+"\n"), line...))
	return hex.EncodeToString(sum[:])
}

// read passes on each line of a file, which need not be there; ends says whether it has its end.
func read(path string, line func(text []byte, ends bool)) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := bufio.NewReader(file); ; {
		text, err := lines.ReadBytes('\n')
		if len(text) > 0 {
			line(text, err == nil)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// appendSynced appends a line, all of it or nothing, and returns when it is on the disk.
func appendSynced(path string, line []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Write(line)
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		_ = file.Truncate(end) // half a line, say of a full disk, would end the chain
	}
	return errors.Join(err, file.Close())
}

func clip(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return strings.ToValidUTF8(text, "")
}

// Package audit keeps a record of what crossed the line between machines and the rest of the
// computer: what the person allowed, shared, gave away or changed, and which token asked for it.
//
// The record is a file of JSON lines that only grows. Each line ends with a hash of itself and of
// the line before. So a line that is changed, removed or put in shows. Whoever can write the file
// can also write all of it anew: against that, a person notes down the newest hash.
package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

const (
	maxText = 500     // bytes of a text in an entry
	maxLine = 8 << 10 // bytes; what is longer is not ours
)

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
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the record cannot be opened: %w", err)
	}
	defer file.Close()
	whole := int64(0)
	_, err = read(file, func(line []byte) {
		whole += int64(len(line))
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			l.last = e
		}
	})
	if err == nil {
		err = file.Truncate(whole)
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

// List are entries before one (0: all), newest first, and whether the whole record is as it was
// written: broken is the number of the first entry that does not follow from the one before, or 0.
func (l *Log) List(before int64, limit int) (entries []Entry, broken int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) && l.last.N == 0 {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("the record cannot be read: %w", err)
	}
	defer file.Close()
	previous := Entry{}
	_, err = read(file, func(line []byte) {
		var e Entry
		bad := json.Unmarshal(line, &e) != nil || e.N != previous.N+1 || e.Hash != hash(previous.Hash, e)
		if bad && broken == 0 {
			broken = previous.N + 1
		}
		previous = e
		if e.N == 0 || (before > 0 && e.N >= before) {
			return
		}
		if entries = append(entries, e); len(entries) > limit {
			entries = entries[1:]
		}
	})
	if broken == 0 && previous.N != l.last.N { // the end is gone
		broken = previous.N + 1
	}
	for i, j := 0, len(entries)-1; i < j; i, j = i+1, j-1 {
		entries[i], entries[j] = entries[j], entries[i]
	}
	return entries, broken, err
}

// Head is the newest entry's hash, which stands for the whole record; "" where it is empty.
func (l *Log) Head() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.Hash
}

// hash is the SHA-256 of the hash before and the entry as JSON without its own, in hexadecimal.
func hash(previous string, e Entry) string {
	e.Hash = ""
	line, _ := json.Marshal(e) // texts, a number and a time
	sum := sha256.Sum256(append([]byte(previous+"\n"), line...))
	return hex.EncodeToString(sum[:])
}

// read passes each whole line on, with its end, and returns what is left at the end of the file.
func read(file io.Reader, line func([]byte)) (rest []byte, err error) {
	lines := bufio.NewReaderSize(file, maxLine)
	for {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		line(text)
	}
}

func appendSynced(path string, line []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = io.Copy(file, bytes.NewReader(line))
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
	return string(bytes.ToValidUTF8([]byte(text), nil))
}

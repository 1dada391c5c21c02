package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
)

// A drop is a place in a machine for which a person gives one file: on a page whose address has the
// drop's code, or on the page in an AI app's chat. The code is the only right that it takes.

const (
	dropLife = 10 * time.Minute
	maxDrops = 32 // at once; the oldest goes
	// dropStall is how long a file may stand still on its way.
	dropStall = time.Minute
	maxPiece  = 1 << 20 // bytes of a file that comes in pieces
)

var errNoDrop = &failure{http.StatusNotFound, "NoDrop", "This link was used before or is too old. Ask the AI app for a new one."}

// drops are those that wait for their file, and those that have it. The zero value is ready.
type drops struct {
	mu  sync.Mutex
	all []*drop // oldest first
}

// drop is one. drops.mu guards what changes.
type drop struct {
	code, machine, path string
	dies                time.Time

	state string // waiting, receiving or done
	file  string // where it is, once it is done
	size  int64  // bytes
	parts *parts // of a file that is coming in pieces
}

const (
	dropWaiting   = "waiting"
	dropReceiving = "receiving"
	dropDone      = "done"
)

func (s *Server) newDrop(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.NewDrop
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	d := &drop{
		code: base64.RawURLEncoding.EncodeToString(secret[:]), machine: m.Name(), path: body.Path,
		dies: time.Now().Add(dropLife), state: dropWaiting,
	}
	s.drops.add(d)
	out := s.drops.document(d)
	out.Code, out.URL = d.code, strings.TrimSuffix(s.config.URL, "/")+"/drop/"+d.code
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) getDrop(w http.ResponseWriter, r *http.Request) error {
	d, err := s.drops.find(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.drops.document(d))
}

// takeDrop writes the body as the drop's file.
func (s *Server) takeDrop(w http.ResponseWriter, r *http.Request) error {
	d, err := s.drops.find(r)
	if err != nil {
		return err
	}
	if err := s.drops.begin(d); err != nil {
		return err
	}
	known(r) // the code is right
	body := &body{from: &unhurried{http.NewResponseController(w), http.MaxBytesReader(w, r.Body, maxFile)}}
	if err := s.put(r.Context(), d, r.URL.Query().Get("name"), body); err != nil || body.err != nil {
		return body.blame(err)
	}
	return writeJSON(w, http.StatusOK, s.drops.document(d))
}

// put writes a drop's file, and ends its begin.
func (s *Server) put(ctx context.Context, d *drop, name string, content io.Reader) error {
	to := d.target(name)
	m, err := s.config.Machines.Find(ctx, d.machine)
	var size int64
	if err == nil {
		size, err = m.PutFile(ctx, to, content)
	}
	s.drops.mu.Lock()
	defer s.drops.mu.Unlock()
	if d.state, d.parts = dropWaiting, nil; err == nil {
		d.state, d.file, d.size = dropDone, to, size
	}
	return err
}

// unhurried is a body whose sender may take long, but not stand still.
type unhurried struct {
	control *http.ResponseController
	from    io.Reader
}

func (u *unhurried) Read(p []byte) (int, error) {
	_ = u.control.SetReadDeadline(time.Now().Add(dropStall)) // a writer without connection has no deadline either
	return u.from.Read(p)
}

// target is where the file of that name goes: a path that ends with a slash is a folder.
func (d *drop) target(name string) string {
	if !strings.HasSuffix(d.path, "/") {
		return d.path
	}
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || c == '/' || c == '\\' {
			return '_'
		}
		return c
	}, strings.ToValidUTF8(name, "_"))
	if name = strings.TrimLeft(name, "."); name == "" {
		name = "file"
	}
	return path.Join(d.path, name)
}

// parts is a file that comes in pieces.
type parts struct {
	name    string
	size    int64
	to      *io.PipeWriter
	stalled *time.Timer
	ended   chan struct{} // closed when err is there
	err     error

	mu sync.Mutex // held while a piece is taken
	at int64      // where the next one begins
}

var errStalled = invalid("The rest of the file did not come, so nothing was written. Send it again.")

// takePiece takes the next piece of a drop's file. An AI app gives its page no network, so a file
// comes through the app, in pieces.
func (s *Server) takePiece(w http.ResponseWriter, r *http.Request) error {
	d, err := s.drops.find(r)
	if err != nil {
		return err
	}
	var body api.Piece
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	content, err := base64.StdEncoding.DecodeString(body.Content)
	end := body.Offset + int64(len(content))
	if err != nil || len(content) > maxPiece || body.Size > maxFile || end > body.Size || len(content) == 0 && body.Size > 0 {
		return invalid("That is not a piece of the file.")
	}
	p := s.drops.parts(d)
	if body.Offset == 0 {
		if err := s.drops.begin(d); err != nil {
			return err
		}
		p = s.receive(d, body.Name, body.Size)
	}
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	if p == nil || p.at != body.Offset || p.name != body.Name || p.size != body.Size || !p.stalled.Reset(dropStall) {
		return &failure{http.StatusConflict, "Conflict", "The pieces of the file do not fit together. Send it again from its beginning."}
	}
	p.at = end
	if _, err := p.to.Write(content); err != nil || p.at == p.size {
		_ = p.to.Close()
		<-p.ended
		if p.stalled.Stop(); p.err != nil {
			return p.err
		}
	}
	return writeJSON(w, http.StatusOK, s.drops.document(d))
}

// receive begins to write a drop's file, whose pieces come to the pipe.
func (s *Server) receive(d *drop, name string, size int64) *parts {
	from, to := io.Pipe()
	p := &parts{name: name, size: size, to: to, ended: make(chan struct{})}
	p.stalled = time.AfterFunc(dropStall, func() { _ = to.CloseWithError(errStalled) })
	s.drops.mu.Lock()
	d.parts = p
	s.drops.mu.Unlock()
	s.sockets.Go(func() {
		defer close(p.ended)
		p.err = s.put(context.Background(), d, name, from)
		_ = from.CloseWithError(errStalled) // a writer that still waits
	})
	return p
}

func (all *drops) add(d *drop) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.expire()
	if len(all.all) == maxDrops {
		all.all = all.all[1:]
	}
	all.all = append(all.all, d)
}

// find returns the drop of a request's code.
func (all *drops) find(r *http.Request) (*drop, error) {
	if !isHere(r) {
		return nil, &failure{http.StatusForbidden, "NotHere", "Open this link on the computer where ForeverVM runs."}
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.expire()
	var found *drop
	for _, d := range all.all { // all of them, so that the time tells nothing
		if access.Same(d.code, r.PathValue("code")) {
			found = d
		}
	}
	if found == nil {
		return nil, errNoDrop
	}
	return found, nil
}

// begin claims a drop for a file: it takes one.
func (all *drops) begin(d *drop) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch d.state {
	case dropDone:
		return errNoDrop
	case dropReceiving:
		return &failure{http.StatusConflict, "Conflict", "A file is already on its way to this place."}
	}
	d.state = dropReceiving
	return nil
}

// parts are those of the file that is coming in pieces; nil where none is.
func (all *drops) parts(d *drop) *parts {
	all.mu.Lock()
	defer all.mu.Unlock()
	return d.parts
}

// expire forgets what is too old. Called with mu held.
func (all *drops) expire() {
	now := time.Now()
	for len(all.all) > 0 && !now.Before(all.all[0].dies) {
		all.all = all.all[1:]
	}
}

// abandon gives up the files that are coming in pieces.
func (all *drops) abandon() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, d := range all.all {
		if d.parts != nil {
			_ = d.parts.to.CloseWithError(errStalled)
		}
	}
}

// document is a drop without its code.
func (all *drops) document(d *drop) api.Drop {
	all.mu.Lock()
	defer all.mu.Unlock()
	return api.Drop{Machine: d.machine, Path: d.path, ExpiresAt: d.dies.UTC(), State: d.state, File: d.file, Size: d.size}
}

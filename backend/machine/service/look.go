package service

import (
	"bytes"
	"context"
	"crypto/rand"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/admission"

	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// lookTakes is how long a state may be looked at that is in memory.
	lookTakes = 20 * time.Second
	// askAgain is how long a machine is left alone that had no time to answer.
	askAgain = 100 * time.Millisecond
	// leastLook is what a state is expected to take in memory, in bytes, where its size is not known.
	leastLook = 128 << 20

	maxLookFiles   = 5000
	maxLookFolders = 300
	maxLookDepth   = 16
	maxDigestText  = 4 << 20 // bytes that the machine may tell of its digests
	digestLength   = 32      // hexadecimal digits
)

// digestCode is run in the copy of a machine that is looked at, and prints digests.
//
//go:embed compare.py
var digestCode string

// look is what was seen of a state. All of it was told from inside: it is bounded, and may be made up.
type look struct {
	variables map[string]machine.Variable
	last      string // the last variable that was looked at, where there are more; else empty
	files     map[string]machine.FileEntry
	unseen    []string // folders that were not looked into
	partial   bool

	// Digests of what they were made of in time, by name and by path.
	variableDigests, fileDigests map[string]string
}

func (l *look) sawVariable(name string) bool { return l.last == "" || name <= l.last }

func (l *look) sawFile(where string) bool {
	return !slices.ContainsFunc(l.unseen, func(folder string) bool { return folder == "." || strings.HasPrefix(where, folder+"/") })
}

// lookCopy is a copy of a state that is brought into memory to be looked at. It is written down as garbage from the beginning: no machine, and
// nothing that stays, whenever we die.
type lookCopy struct {
	e      *entry
	source machine.CheckpointRecord // of the machine
	point  machine.Point
	engine machine.Engine
	spec   machine.StartSpec
}

// copyToLook copies two states; one, twice, where they are the same. op is held.
func (e *entry) copyToLook(ctx context.Context, a, b string) (copies [2]*lookCopy, err error) {
	if err := e.takeUp(ctx); err != nil {
		return copies, err
	}
	points, err := e.pointsToLook(ctx, [2]string{a, b})
	if err != nil {
		return copies, err
	}
	for i, point := range points {
		if i > 0 && point.source.ID == points[0].source.ID {
			copies[1] = copies[0]
			break
		}
		if err := point.make(ctx); err != nil {
			point.forget()
			if i > 0 {
				copies[0].forget()
			}
			e.s.spawn(e.s.takeOutGarbage)
			return copies, err
		}
		copies[i] = point
	}
	return copies, nil
}

// pointsToLook finds the states, and saves the present one where that is meant. op is held.
func (e *entry) pointsToLook(ctx context.Context, asked [2]string) (points [2]*lookCopy, err error) {
	m := e.Machine()
	if m.State == machine.Deleted {
		return points, machine.InBin(m.Name)
	}
	engine, err := e.s.engineOf(e.engine)
	if err != nil {
		return points, err
	}
	defer func() {
		o := e.lock()
		defer o.unlock()
		o.rewindTo = ""
	}()
	for _, present := range []bool{false, true} { // last, as it may replace others
		for i, to := range asked {
			if (to == "") != present {
				continue
			}
			c := &lookCopy{e: e, engine: engine, spec: machine.StartSpec{Name: m.Name, Image: m.Image, MemoryMB: m.MemoryMB}}
			if present {
				c.source, err = e.forkSource(ctx, "")
			} else {
				c.source, err = e.pointToLook(ctx, to)
			}
			if err != nil {
				return points, err
			}
			c.point = machine.Point{Checkpoint: c.source.ID, Present: present, Label: c.source.Label, Branch: c.source.Branch, LastSeq: c.source.LastSeq, CreatedAt: c.source.CreatedAt}
			points[i] = c
		}
	}
	return points, nil
}

// pointToLook finds a checkpoint, which stays until the states are found.
func (e *entry) pointToLook(ctx context.Context, to string) (machine.CheckpointRecord, error) {
	o := e.lock()
	defer o.unlock()
	all, err := e.s.store.Checkpoints(ctx, e.id)
	if err != nil {
		return machine.CheckpointRecord{}, err
	}
	c, err := o.pointCalled(all, to)
	o.rewindTo = c.ID
	return c, err
}

// make makes the copy, as garbage.
func (c *lookCopy) make(ctx context.Context) error {
	s := c.e.s
	c.spec.ID, c.spec.Life = machine.NewID(), string(machine.NewID())
	c.spec.Clone = c.source.ID == "" || c.source.Clone
	s.making.Store(c.spec.ID, true)
	trash := machine.Garbage{Engine: c.e.engine, Machine: c.spec.ID}
	if err := s.store.Write(ctx, func(w machine.Writer) error { return w.AddGarbage(trash) }); err != nil {
		return err
	}
	if c.source.ID == "" {
		return nil
	}
	info, err := s.checkpoints.Copy(ctx, c.e.id, c.source.ID, c.spec.ID)
	if err != nil {
		return saveError(err)
	}
	c.spec.Checkpoint = info.ID
	return nil
}

// forget lets the copy be taken out with the garbage.
func (c *lookCopy) forget() { c.e.s.making.Delete(c.spec.ID) }

// look brings the copy into memory, without a network, looks at it and ends it.
func (c *lookCopy) look(ctx context.Context) (look, error) {
	s := c.e.s
	s.looking.Store(max(c.source.Whole, leastLook))
	defer s.looking.Store(0)
	s.relieve()
	leave, err := s.enterMemory(ctx, admission.Entrant{
		Need: max(c.source.Whole, leastLook), Wanted: func() bool { return true }, Tell: func(bool) {},
	}, roomBriefly)
	if err != nil {
		return look{}, err
	}
	defer leave()
	box, err := c.start(ctx)
	if err != nil {
		return look{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTakes)
	defer cancel()
	h := newHearing(box)
	defer func() {
		box.Kill()
		<-h.over
	}()
	seen, err := lookAt(ctx, box)
	if err != nil {
		return look{}, &machine.Error{Kind: machine.ErrUnavailable, Message: "One of the states could not be looked at: " + err.Error(), Cause: err}
	}
	seen.variableDigests, seen.fileDigests = h.digests(ctx)
	return seen, nil
}

func (c *lookCopy) start(ctx context.Context) (machine.Sandbox, error) {
	s := c.e.s
	if err := s.starts.Enter(ctx, func() bool { return true }); err != nil {
		return nil, err
	}
	defer s.starts.Leave()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	box, err := c.engine.Start(ctx, c.spec)
	if err != nil {
		kind := machine.ErrUnavailable
		if errors.Is(err, machine.ErrCheckpointUnusable) {
			kind = machine.ErrCheckpointUnusable
		}
		return nil, &machine.Error{Kind: kind, Message: "One of the states could not be brought into memory: " + err.Error(), Cause: err}
	}
	return box, nil
}

// lookAt lists the variables and the files of a machine in memory.
func lookAt(ctx context.Context, box machine.Sandbox) (look, error) {
	l := look{variables: map[string]machine.Variable{}, files: map[string]machine.FileEntry{}}
	variables, err := variablesOf(ctx, box)
	if err != nil {
		return l, err
	}
	for _, v := range variables {
		l.variables[v.Name] = v
		if len(variables) >= maxVariables {
			l.last, l.partial = max(l.last, v.Name), true
		}
	}
	return l, l.walk(ctx, box)
}

// variablesOf lists variables, and asks again for a while where there was no time to answer: a machine that has just come into memory is slow, and its
// Python may be occupied.
func variablesOf(ctx context.Context, box machine.Sandbox) ([]machine.Variable, error) {
	for deadline := time.Now().Add(lookTakes / 2); ; {
		list, err := box.Variables(ctx, maxVariables)
		if err == nil || time.Now().After(deadline) {
			return list, err
		}
		select {
		case <-time.After(askAgain):
		case <-box.Ended():
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
	}
}

// walk lists the files under the working folder, as far as there are not too many.
func (l *look) walk(ctx context.Context, files machine.Files) error {
	folders := []string{"."}
	for n := 0; n < len(folders); n++ {
		folder := folders[n]
		list, err := files.ListFiles(ctx, folder, maxFiles)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || list.More || n >= maxLookFolders || len(l.files)+len(list.Entries) > maxLookFiles {
			l.unseen, l.partial = append(l.unseen, folder), true
			continue
		}
		for _, f := range list.Entries {
			where := path.Join(folder, f.Name)
			if strings.HasPrefix(f.Name, ".") || f.Name == "" || strings.Contains(f.Name, "/") || !utf8.ValidString(f.Name) || len(where) > maxPath {
				continue
			}
			l.files[where] = f
			switch {
			case f.Kind != machine.FileFolder:
			case strings.Count(where, "/") < maxLookDepth:
				folders = append(folders, where)
			default:
				l.unseen, l.partial = append(l.unseen, where), true
			}
		}
	}
	return nil
}

// hearing takes in what a machine in memory says, and keeps what one instruction prints.
type hearing struct {
	box  machine.Sandbox
	seq  int
	text []byte        // what it printed; to be read once done is closed
	done chan struct{} // closed when it is over
	over chan struct{} // closed when the sandbox has ended
}

func newHearing(box machine.Sandbox) *hearing {
	h := &hearing{box: box, seq: box.Ready().LastSeq + 1, done: make(chan struct{}), over: make(chan struct{})}
	go h.hear()
	return h
}

func (h *hearing) hear() {
	ended := false
	for f := range h.box.Frames() {
		if f.Type == machine.FrameBackground {
			continue
		}
		h.box.Ack(f.Seq, f.Index)
		if f.Seq != h.seq || ended {
			continue
		}
		if f.Type == machine.FrameItem && f.Item.Kind == machine.ItemOutput && f.Item.Stream == "stdout" {
			h.text = append(h.text, f.Item.Text[:min(len(f.Item.Text), maxDigestText-len(h.text))]...)
		}
		if f.Type == machine.FrameResult {
			ended = true
			close(h.done)
		}
	}
	<-h.box.Ended()
	close(h.over)
}

// digests has the machine make digests of its variables and files, where nothing runs in it. It returns those that it made in time.
func (h *hearing) digests(ctx context.Context) (variables, files map[string]string) {
	ready := h.box.Ready()
	if ready.Running != nil || len(ready.Queued) > 0 {
		return nil, nil
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	mark := hex.EncodeToString(random[:])
	if h.box.Execute(ctx, h.seq, strings.Replace(digestCode, `"MARK"`, `"`+mark+`"`, 1), nil) != nil {
		return nil, nil
	}
	select {
	case <-h.done:
		return readDigests(h.text, mark)
	case <-h.over:
	case <-ctx.Done():
	}
	return nil, nil
}

// readDigests finds the digests in what a machine printed.
func readDigests(text []byte, mark string) (variables, files map[string]string) {
	_, rest, _ := bytes.Cut(text, []byte("\n"+mark))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	var told struct{ Variables, Files map[string]string }
	if json.Unmarshal(line, &told) != nil {
		return nil, nil
	}
	for _, all := range []map[string]string{told.Variables, told.Files} {
		for name, digest := range all {
			if _, err := hex.DecodeString(digest); err != nil || len(digest) != digestLength {
				delete(all, name)
			}
		}
	}
	return told.Variables, told.Files
}

package remote

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// Bounds of what an agent says.
const (
	maxMessage  = 2000    // bytes of a sentence
	maxWord     = 200     // bytes of a name or version
	maxProblems = 16      // that it may have at once
	maxFiles    = 64      // of one state
	maxSize     = 1 << 50 // bytes of a state, and of all states
	maxSeq      = 1 << 40 // instructions of a machine
)

// errLies marks an agent that does not keep to the protocol.
var errLies = errors.New("the agent does not keep to the protocol")

// checkpointID is what checkpoint.Folder gives to checkpoints.
var checkpointID = regexp.MustCompile(`^[0-9a-f-]{1,64}$`)

// kinds are the errors that keep their kind on the way, by what they are called there.
var kinds = map[string]error{
	"not_found": machine.ErrNotFound, "invalid": machine.ErrInvalid, "conflict": machine.ErrConflict, "unavailable": machine.ErrUnavailable,
	"checkpoint_unusable": machine.ErrCheckpointUnusable, "disk_full": machine.ErrDiskFull, "busy": machine.ErrBusy,
}

// failureOf says an error to the other end; nil for none.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Message: naming.Clip(err.Error(), maxMessage)}
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			f.Kind = name
		}
	}
	return f
}

// err is the error that the other end said.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	kind, ok := kinds[f.Kind]
	if !ok {
		kind = machine.ErrUnavailable
	}
	return full(&machine.Error{Kind: kind, Message: plain(f.Message, maxMessage)})
}

// plain is text of the other end, fit to be shown: one line, of so many bytes at most.
func plain(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return naming.Clip(naming.Unturned(text), limit)
}

// info checks a checkpoint that an agent tells of.
func (c *checkpoint) info() (machine.CheckpointInfo, error) {
	switch {
	case c == nil:
		return machine.CheckpointInfo{}, fmt.Errorf("%w: it tells of no checkpoint", errLies)
	case !checkpointID.MatchString(c.ID):
		return machine.CheckpointInfo{}, fmt.Errorf("%w: a checkpoint is called %.80q", errLies, c.ID)
	case c.Size < 0 || c.Size > maxSize || c.Whole < 0 || c.Whole > maxSize,
		c.LastSeq < -1 || c.LastSeq > maxSeq, c.RunningSeq != nil && (*c.RunningSeq < 0 || *c.RunningSeq > maxSeq),
		c.PauseMS < 0 || c.PauseMS > int64(24*time.Hour/time.Millisecond), c.CreatedAt.Year() < 2000 || c.CreatedAt.Year() > 9000:
		return machine.CheckpointInfo{}, fmt.Errorf("%w: numbers of a checkpoint that cannot be", errLies)
	}
	return machine.CheckpointInfo{
		ID: c.ID, CreatedAt: c.CreatedAt, LastSeq: c.LastSeq, RunningSeq: c.RunningSeq, Size: c.Size, Whole: c.Whole,
		Image: plain(c.Image, maxWord), Runtime: plain(c.Runtime, maxWord), Pause: time.Duration(c.PauseMS) * time.Millisecond,
	}, nil
}

// check looks at a state that the other end tells of.
func (s *state) check() error {
	if s == nil || len(s.Files) > maxFiles || s.LastSeq < -1 || s.LastSeq > maxSeq || s.Baseline < 0 || s.Baseline > maxSize {
		return fmt.Errorf("%w: a state that cannot be", errLies)
	}
	seen := map[string]bool{}
	var all int64
	for _, f := range s.Files {
		if f.Size < 0 || f.Size > maxSize || f.Name == "" || f.Name != plain(f.Name, maxWord) || strings.ContainsAny(f.Name, `/\`) || seen[f.Name] {
			return fmt.Errorf("%w: a state has the file %.80q of %d bytes", errLies, f.Name, f.Size)
		}
		seen[f.Name] = true
		if all += f.Size; all > maxSize {
			return fmt.Errorf("%w: a state of more than %d bytes", errLies, int64(maxSize))
		}
	}
	return nil
}

// bytes checks a number of bytes.
func (a *answer) bytes() (int64, error) {
	if a.Bytes < 0 || a.Bytes > maxSize {
		return 0, fmt.Errorf("%w: %d bytes", errLies, a.Bytes)
	}
	return a.Bytes, nil
}

// problems are what keeps the agent from working.
func (a *answer) problems() (list []machine.Problem) {
	for _, p := range a.Problems[:min(len(a.Problems), maxProblems)] {
		list = append(list, machine.Problem{What: plain(p.What, maxMessage), Do: plain(p.Do, maxMessage)})
	}
	return list
}

package compare

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	// askAgain is how long a machine is left alone that had no time to answer.
	askAgain = 100 * time.Millisecond

	maxVariables  = 1000
	maxFolder     = 2000 // entries of one folder
	maxFiles      = 5000
	maxFolders    = 300
	maxDepth      = 16
	maxPath       = 4096    // bytes
	maxDigestText = 4 << 20 // bytes that the machine may tell of its digests
	digestLength  = 32      // hexadecimal digits
	maxColumns    = 50      // of one table
	maxColumnName = 400     // bytes
)

// digestCode is run in the copy of a machine that is looked at, and prints digests.
//
//go:embed compare.py
var digestCode string

// Seen is what was seen of a state.
type Seen struct {
	Partial bool // there is more

	variables map[string]machine.Variable
	last      string // the last variable that was looked at, where there are more; else empty
	files     map[string]machine.FileEntry
	unseen    []string // folders that were not looked into

	digests digests
}

// digests are digests of what they were made of in time.
type digests struct {
	Variables map[string]string   `json:"variables"` // by name
	Files     map[string]string   `json:"files"`     // by path
	Columns   map[string][]column `json:"columns"`   // of tables, by the table's name
}

// column is a column of a table.
type column struct {
	name, digest string
	mean         *float64 // of its numbers; nil where it has none
}

// UnmarshalJSON reads a column from [name, digest, mean].
func (c *column) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.name, &c.digest, &c.mean})
}

func (s *Seen) sawVariable(name string) bool { return s.last == "" || name <= s.last }

func (s *Seen) sawFile(where string) bool {
	return !slices.ContainsFunc(s.unseen, func(folder string) bool { return folder == "." || strings.HasPrefix(where, folder+"/") })
}

// Contents is what was seen, for people to read.
func (s *Seen) Contents() machine.Contents {
	c := machine.Contents{Variables: []machine.Variable{}, Files: []machine.FileEntry{}, Partial: s.Partial}
	for _, name := range slices.Sorted(maps.Keys(s.variables)) {
		c.Variables = append(c.Variables, s.variables[name])
	}
	for _, where := range slices.Sorted(maps.Keys(s.files)) {
		file := s.files[where]
		file.Name = where
		c.Files = append(c.Files, file)
	}
	return c
}

// List looks at a machine in memory, which nobody else uses, for as long as it takes at most, and
// ends it.
func List(ctx context.Context, box machine.Sandbox, takes time.Duration) (Seen, error) {
	return look(ctx, box, takes, false)
}

// Look does what List does, and makes digests, so that what changed can be told.
func Look(ctx context.Context, box machine.Sandbox, takes time.Duration) (Seen, error) {
	return look(ctx, box, takes, true)
}

func look(ctx context.Context, box machine.Sandbox, takes time.Duration, closely bool) (Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, takes)
	defer cancel()
	h := newHearing(box)
	defer func() {
		box.Kill()
		<-h.over
	}()
	seen, err := lookAt(ctx, box, takes/2)
	if err != nil {
		return Seen{}, err
	}
	if closely {
		seen.digests = h.digests(ctx)
	}
	return seen, nil
}

// lookAt lists the variables and the files of a machine in memory.
func lookAt(ctx context.Context, box machine.Sandbox, patience time.Duration) (Seen, error) {
	s := Seen{variables: map[string]machine.Variable{}, files: map[string]machine.FileEntry{}}
	variables, err := variablesOf(ctx, box, patience)
	if err != nil {
		return s, err
	}
	for _, v := range variables {
		s.variables[v.Name] = v
		if len(variables) >= maxVariables {
			s.last, s.Partial = max(s.last, v.Name), true
		}
	}
	return s, s.walk(ctx, box)
}

// variablesOf lists variables, and asks again for a while where there was no time to answer: a
// machine that has just come into memory is slow, and its Python may be occupied.
func variablesOf(ctx context.Context, box machine.Sandbox, patience time.Duration) ([]machine.Variable, error) {
	for deadline := time.Now().Add(patience); ; {
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
func (s *Seen) walk(ctx context.Context, files machine.Files) error {
	folders := []string{"."}
	for n := 0; n < len(folders); n++ {
		folder := folders[n]
		list, err := files.ListFiles(ctx, folder, maxFolder)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || list.More || n >= maxFolders || len(s.files)+len(list.Entries) > maxFiles {
			s.unseen, s.Partial = append(s.unseen, folder), true
			continue
		}
		for _, f := range list.Entries {
			where := path.Join(folder, f.Name)
			if strings.HasPrefix(f.Name, ".") || f.Name == "" || strings.Contains(f.Name, "/") || !utf8.ValidString(f.Name) || len(where) > maxPath {
				continue
			}
			s.files[where] = f
			switch {
			case f.Kind != machine.FileFolder:
			case strings.Count(where, "/") < maxDepth:
				folders = append(folders, where)
			default:
				s.unseen, s.Partial = append(s.unseen, where), true
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

// digests has the machine make digests of its variables and files, where nothing runs in it. It
// returns those that it made in time.
func (h *hearing) digests(ctx context.Context) digests {
	ready := h.box.Ready()
	if ready.Running != nil || len(ready.Queued) > 0 {
		return digests{}
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	mark := hex.EncodeToString(random[:])
	if h.box.Execute(ctx, h.seq, strings.Replace(digestCode, `"MARK"`, `"`+mark+`"`, 1), nil) != nil {
		return digests{}
	}
	select {
	case <-h.done:
		return readDigests(h.text, mark)
	case <-h.over:
	case <-ctx.Done():
	}
	return digests{}
}

// readDigests finds the digests in what a machine printed.
func readDigests(text []byte, mark string) digests {
	_, rest, _ := bytes.Cut(text, []byte("\n"+mark))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	var told digests
	if json.Unmarshal(line, &told) != nil {
		return digests{}
	}
	for _, all := range []map[string]string{told.Variables, told.Files} {
		maps.DeleteFunc(all, func(_, digest string) bool { return !isDigest(digest) })
	}
	for name, columns := range told.Columns {
		told.Columns[name] = slices.DeleteFunc(columns[:min(len(columns), maxColumns)], func(c column) bool {
			return !isDigest(c.digest) || len(c.name) > maxColumnName
		})
	}
	return told
}

func isDigest(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == digestLength
}

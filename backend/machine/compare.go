package machine

import (
	"context"
	"maps"
	"slices"
	"time"
)

// maxSteps is how many instructions of each side a comparison tells.
const maxSteps = 500

// Comparison is in what two states of a machine differ. What it tells of variables and files comes from inside, and may be made up.
type Comparison struct {
	A, B Point

	Variables []VariableChange // by name
	// Unsure are variables that look the same in both, and could not be compared to the end: too large, or of a kind that cannot be.
	Unsure []string
	Files  []FileChange // by path, under the working folder, without those whose names begin with a dot
	// Partial says that there are more variables, files or folders than were looked at.
	Partial bool
	// OnlyA and OnlyB are the instructions whose effect is in one of the states alone, at most 500 each, the last ones.
	OnlyA, OnlyB []Step
}

// Point is a state that was compared.
type Point struct {
	Checkpoint string // empty for the template
	Present    bool   // it is the machine's present state
	Label      string
	Branch     string
	LastSeq    int
	CreatedAt  time.Time // zero for the template
}

// ChangeKind is what became of something between A and B.
type ChangeKind string

const (
	ChangeAdded   ChangeKind = "added"
	ChangeRemoved ChangeKind = "removed"
	ChangeChanged ChangeKind = "changed"
)

// VariableChange is a variable that is not the same in both states.
type VariableChange struct {
	Name          string
	Change        ChangeKind
	Before, After *Variable // nil where it is not there
}

// FileChange is a file or folder that is not the same in both states. Of what is in a folder that was added or removed, all is told.
type FileChange struct {
	Path          string // relative to the working folder
	Change        ChangeKind
	Before, After *FileEntry // nil where it is not there
	// Unsure says that it was written, has the same size as before, and could not be compared.
	Unsure bool
}

// Step is an instruction whose effect is in one of two states alone.
type Step struct {
	Seq   int
	Title string // one line of its code
}

// Compare tells in what two states of a machine differ: checkpoints, by their IDs or the names of branches that end there; "" is the present one. Both are
// brought into memory, one after the other and without a network, looked at, and ended; nothing is left of that.
func (e *entry) Compare(ctx context.Context, a, b string) (Comparison, error) {
	if e.s.isClosing() || !e.s.enter() {
		return Comparison{}, errClosing()
	}
	defer e.s.group.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.s.ctx, cancel)()
	if err := e.s.roomForMore(); err != nil {
		return Comparison{}, err
	}
	if err := e.s.looks.enter(ctx, func() bool { return true }); err != nil {
		return Comparison{}, err
	}
	defer e.s.looks.leave()
	copies, err := under(ctx, e, func(ctx context.Context) ([2]*lookCopy, error) { return e.copyToLook(ctx, a, b) })
	if err != nil {
		return Comparison{}, err
	}
	defer e.s.spawn(e.s.takeOutGarbage)
	defer copies[0].forget()
	defer copies[1].forget()
	var seen [2]look
	for i, c := range copies {
		if i > 0 && c == copies[0] {
			seen[1] = seen[0]
			break
		}
		if seen[i], err = c.look(ctx); err != nil {
			return Comparison{}, err
		}
	}
	return e.compared(ctx, copies, seen)
}

// compared puts together what was seen.
func (e *entry) compared(ctx context.Context, copies [2]*lookCopy, seen [2]look) (Comparison, error) {
	before, after := copies[0], copies[1]
	c := Comparison{A: before.point, B: after.point, Partial: seen[0].partial || seen[1].partial}
	c.Variables, c.Unsure = compareVariables(seen[0], seen[1])
	c.Files = compareFiles(seen[0], seen[1])
	var err error
	if c.OnlyA, err = e.steps(ctx, before.source, after.source); err == nil {
		c.OnlyB, err = e.steps(ctx, after.source, before.source)
	}
	return c, err
}

// steps are the instructions whose effect is in one checkpoint and not in another, the last ones.
func (e *entry) steps(ctx context.Context, in, but CheckpointRecord) ([]Step, error) {
	all := without(in.effects(), but.effects())
	if len(all) > maxSteps {
		all = all[len(all)-maxSteps:]
	}
	steps := []Step{}
	for _, seq := range all {
		found, err := e.s.store.Instruction(ctx, e.id, seq)
		if isNotFound(err) || err == nil && found.StartedAt == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{Seq: seq, Title: titleOf(found.Code)})
	}
	return steps, nil
}

// effects are the numbers of the instructions whose effect is in a checkpoint, and of some that never ran.
func (c *CheckpointRecord) effects() []Span {
	var spans []Span
	from, end := 0, c.lostFrom(nil)
	for _, lost := range append(slices.Clone(c.Lost), Span{end, end}) {
		if from < min(lost.From, end) {
			spans = append(spans, Span{from, min(lost.From, end) - 1})
		}
		from = max(from, lost.To+1)
	}
	return spans
}

// compareVariables compares what was seen of variables, by name.
func compareVariables(a, b look) (changes []VariableChange, unsure []string) {
	for _, name := range names(a.variables, b.variables) {
		before, was := a.variables[name]
		after, is := b.variables[name]
		switch {
		case !a.sawVariable(name) || !b.sawVariable(name):
		case !was:
			changes = append(changes, VariableChange{Name: name, Change: ChangeAdded, After: &after})
		case !is:
			changes = append(changes, VariableChange{Name: name, Change: ChangeRemoved, Before: &before})
		default:
			one, other := a.variableDigests[name], b.variableDigests[name]
			known := one != "" && other != ""
			switch {
			case before.differs(after) || known && one != other:
				changes = append(changes, VariableChange{name, ChangeChanged, &before, &after})
			case !known:
				unsure = append(unsure, name)
			}
		}
	}
	return changes, unsure
}

// differs says whether what is known of a variable in two states cannot be of the same value. A machine that has no time to look into tables tells less of them.
func (v Variable) differs(other Variable) bool {
	return v.Type != other.Type || v.Kind != other.Kind ||
		v.Shape != "" && other.Shape != "" && v.Shape != other.Shape ||
		v.Size >= 0 && other.Size >= 0 && v.Size != other.Size ||
		v.Preview != "" && other.Preview != "" && v.Preview != other.Preview
}

// compareFiles compares what was seen of files, by path.
func compareFiles(a, b look) (changes []FileChange) {
	for _, where := range names(a.files, b.files) {
		before, was := a.files[where]
		after, is := b.files[where]
		switch {
		case !a.sawFile(where) || !b.sawFile(where):
		case !was:
			changes = append(changes, FileChange{Path: where, Change: ChangeAdded, After: &after})
		case !is:
			changes = append(changes, FileChange{Path: where, Change: ChangeRemoved, Before: &before})
		case before.Kind != after.Kind:
			changes = append(changes, FileChange{where, ChangeChanged, &before, &after, false})
		case before.Kind != FileFolder:
			one, other := a.fileDigests[where], b.fileDigests[where]
			known := one != "" && other != ""
			if before.Size != after.Size || known && one != other || !known && !before.Modified.Equal(after.Modified) {
				changes = append(changes, FileChange{where, ChangeChanged, &before, &after, !known && before.Size == after.Size})
			}
		}
	}
	return changes
}

func names[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

package machine

import "time"

// Comparison is in what two states of a machine differ. What it tells of variables and files comes
// from inside, and may be made up.
type Comparison struct {
	A, B Point

	Variables []VariableChange // by name
	// Unsure are variables that look the same in both, and could not be compared to the end: too
	// large, or of a kind that cannot be.
	Unsure []string
	Files  []FileChange // by path, under the working folder, without those whose names begin with a dot
	// Partial says that there are more variables, files or folders than were looked at.
	Partial bool
	// OnlyA and OnlyB are the instructions whose effect is in one of the states alone, at most 500
	// each, the last ones.
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
	// Columns are those of a table that both have and whose values differ, as far as they were
	// looked at.
	Columns []ColumnChange
}

// ColumnChange is a column of a table whose values are not the same in both states.
type ColumnChange struct {
	Name          string
	Before, After *float64 // the mean of its numbers; nil where it has none
}

// FileChange is a file or folder that is not the same in both states. Of what is in a folder that
// was added or removed, all is told.
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

// Differs says whether what is known of a variable in two states cannot be of the same value. A
// machine that has no time to look into tables tells less of them.
func (v Variable) Differs(other Variable) bool {
	return v.Type != other.Type || v.Kind != other.Kind ||
		v.Shape != "" && other.Shape != "" && v.Shape != other.Shape ||
		v.Size >= 0 && other.Size >= 0 && v.Size != other.Size ||
		v.Preview != "" && other.Preview != "" && v.Preview != other.Preview
}

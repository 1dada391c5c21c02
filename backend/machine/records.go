package machine

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine/naming"
)

// MachineRecord is a machine as the store keeps it: what people see (Machine, whose State,
// RunningSeq, Queued and Memory are live and not stored) and what the service needs to bring it
// back.
type MachineRecord struct {
	Machine

	// Aliases are names from before renames; they keep working.
	Aliases []string
	// Live says that the machine is, or may be, in memory. Found set when the daemon starts, its
	// last daemon died.
	Live bool
	// Life names the last stay in memory; other than any before, and written down before it begins.
	Life string
	// Touched says that something other than an instruction changed the machine since Base: a file
	// was put into it.
	Touched bool
	// Base is the checkpoint that the machine's present state is, or was brought into memory from;
	// "" is the template.
	Base string
	// Fallback is the last checkpoint in which no instruction ran: what the machine returns to when
	// its sandbox dies.
	Fallback string
	// NextNotice is told with the result of the next instruction.
	NextNotice string
}

// InstructionRecord is an instruction with what the service needs to go on with it.
type InstructionRecord struct {
	Instruction
	Progress
	// Key is what its sender called it, unique on its machine; "" for nothing. Copies of the
	// machine do not have it.
	Key string
	// Ran is the running time up to ResumedAt, counted over all stays in memory.
	Ran time.Duration
	// ResumedAt is when it began to run, or last went on after its machine woke; nil when it is not
	// in memory.
	ResumedAt *time.Time
	// Again says that it was given back to the queue, because the first sandbox died before it had
	// begun. There is no third time.
	Again bool
}

// Progress is how far an instruction's output is stored.
type Progress struct {
	LastFrame int   // highest frame of the runner's that is stored; -1 for none
	HeadEnd   int   // items below this index are the head, kept for good
	Overflow  int64 // length of the overflow file that counts; what lies beyond is garbage of a crash
	CarryOut  []byte
	CarryErr  []byte // CarryOut and CarryErr begin a character whose rest has not come yet
}

// StoredItem is an item with the frame it came in; of merged frames the last.
type StoredItem struct {
	Item
	Frame int
}

// Mark is how much of the running instruction's output belongs to a checkpoint's past, for forks of
// it.
type Mark struct {
	Seq           int
	Progress      Progress
	Items         int
	OutputBytes   int64
	OutputDropped int64
}

// CheckpointRecord is a checkpoint with what the service needs to return to it.
type CheckpointRecord struct {
	Checkpoint
	// Clone says that the checkpoint was copied from another machine: Python's random state must be
	// made new.
	Clone bool
	// Shrunk says that it was kept in the form that takes least room; see Checkpoints.Compact.
	Shrunk bool
	// Whole is how many bytes it has when it is not shrunk; 0 where that is not known.
	Whole int64
	// Mark is set when an instruction was not over for us; it may have ended in the checkpoint
	// already.
	Mark *Mark
	// Lost are the instructions up to LastSeq whose effect is not in it, because of earlier
	// rewinds.
	Lost []Span
	// Named says that somebody chose the name of the branch that ends here.
	Named bool
	// LeftAt is when a rewind left that branch; zero where none ends here.
	LeftAt time.Time
}

// LostFrom is the first instruction whose effect is not in the checkpoint: its beginning may be,
// but going on there is only what still runs for us.
func (c *CheckpointRecord) LostFrom(run *InstructionRecord) int {
	if r := c.RunningSeq; r != nil && (run == nil || run.Seq != *r) {
		return *r
	}
	return c.LastSeq + 1
}

// HasFinished says whether an instruction that is not over for us is over in the checkpoint: waking
// from there, the runner tells its end again.
func (c *CheckpointRecord) HasFinished(run *InstructionRecord) bool {
	return run != nil && c.RunningSeq == nil && c.LastSeq >= run.Seq
}

// ComesFrom says whether the checkpoint called id is an ancestor of this one. all are the machine's
// checkpoints.
func (c *CheckpointRecord) ComesFrom(id string, all []CheckpointRecord) bool {
	parents := make(map[string]string, len(all))
	for i := range all {
		parents[all[i].ID] = all[i].Parent
	}
	at := c.Parent
	for range all {
		if at == id || at == "" {
			break
		}
		at = parents[at]
	}
	return at == id
}

// IsPastOf says whether this checkpoint lies in the past of another: what has taken effect here has
// there, and of what came before nothing else has.
func (c *CheckpointRecord) IsPastOf(later *CheckpointRecord) bool {
	var lost []Span
	for _, span := range later.Lost {
		if span.From <= c.LastSeq {
			lost = append(lost, Span{span.From, min(span.To, c.LastSeq)})
		}
	}
	return c.LastSeq <= later.LastSeq && slices.Equal(c.Lost, lost)
}

// Span is a closed range of sequence numbers.
type Span struct{ From, To int }

// Garbage is something of an engine's that is to be deleted: written down first, so that a crash
// forgets nothing.
type Garbage struct {
	Engine     string
	Machine    ID
	Checkpoint string // "" for everything of the machine
}

// ItemPage is one consistent look at an instruction's items.
type ItemPage struct {
	Record InstructionRecord // without code and result data
	Items  []Item            // may have a gap where the overflow file holds the middle
}

// SetBranch makes a checkpoint the end of a branch.
func (c *CheckpointRecord) SetBranch(name string, named bool, at time.Time) {
	c.Branch, c.Named, c.LeftAt = name, named, at
}

// ClearBranch ends the branch that ended in a checkpoint.
func (c *CheckpointRecord) ClearBranch() { c.SetBranch("", false, time.Time{}) }

// AsBranch is the branch that ends in a checkpoint, in a machine whose present state lacks the
// effects of the instructions in lost.
func (c *CheckpointRecord) AsBranch(lost []Span) Branch {
	after := append(slices.Clone(c.Lost), Span{c.LostFrom(nil), math.MaxInt})
	return Branch{Name: c.Branch, Named: c.Named, Checkpoint: c.ID, LastSeq: c.LastSeq, Steps: len(Without(lost, after)), LeftAt: c.LeftAt}
}

// Without are the numbers in some spans that are not in others.
func Without(spans, others []Span) (seqs []int) {
	for _, span := range spans {
		for seq := span.From; seq <= span.To; seq++ {
			if !slices.ContainsFunc(others, func(o Span) bool { return o.From <= seq && seq <= o.To }) {
				seqs = append(seqs, seq)
			}
		}
	}
	return seqs
}

// Effects are the numbers of the instructions whose effect is in a checkpoint, and of some that
// never ran.
func (c *CheckpointRecord) Effects() []Span {
	var spans []Span
	from, end := 0, c.LostFrom(nil)
	for _, lost := range append(slices.Clone(c.Lost), Span{end, end}) {
		if from < min(lost.From, end) {
			spans = append(spans, Span{from, min(lost.From, end) - 1})
		}
		from = max(from, lost.To+1)
	}
	return spans
}

// Start sets the fields of an instruction that is handed to the machine now.
func (in *InstructionRecord) Start(now time.Time) {
	in.Status = StatusRunning
	in.StartedAt, in.ResumedAt = &now, &now
}

// End sets the fields of an instruction that ends without a result of the machine's.
func (in *InstructionRecord) End(status InstructionStatus, errName, sentence string) {
	now := time.Now().UTC()
	in.Status, in.ErrorName, in.Error = status, errName, sentence
	in.EndedAt, in.ResumedAt = &now, nil
	if in.StartedAt != nil && in.Runtime == 0 {
		in.Runtime = in.Ran
	}
}

// AsOf is what the record of an instruction was when a checkpoint was made in it; see
// Writer.CopyHistory.
func (in *InstructionRecord) AsOf(id ID, m *Mark) *InstructionRecord {
	return &InstructionRecord{
		Instruction: Instruction{
			Machine: id, Seq: in.Seq, Code: in.Code, Client: in.Client, Summary: in.Summary, Timeout: in.Timeout, Formats: in.Formats,
			Status: StatusRunning, QueuedAt: in.QueuedAt, StartedAt: in.StartedAt,
			Items: m.Items, OutputBytes: m.OutputBytes, OutputDropped: m.OutputDropped,
		},
		Progress: m.Progress, Ran: in.Ran,
	}
}

// IsWithin says whether the checkpoint was made in the middle of an instruction that is not over
// for us, so that it can go on from there.
func (c *CheckpointRecord) IsWithin(run *InstructionRecord) bool {
	return c.RunningSeq != nil && *c.RunningSeq == run.Seq && c.Mark != nil && c.Mark.Seq == run.Seq
}

// WentOn notes the end of an instruction that was over before, and says whether that is news: it
// may be one that is on record and was not acknowledged yet.
func (in *InstructionRecord) WentOn(f *Frame) bool {
	if !in.Status.Done() || !in.RolledBack && f.Index <= in.LastFrame {
		return false
	}
	in.LastFrame = f.Index
	in.RolledBack = in.RolledBack && !f.Result.OK
	if told := "It went on when the machine was next in memory, " + f.Result.How() + "; what it put out there is not kept."; !strings.Contains(in.Notice, told) {
		in.Notice = naming.Join(in.Notice, told)
	}
	return true
}

// CheckpointUse is what the checkpoints of a machine take that are kept in the form that takes
// least room, in bytes.
type CheckpointUse struct {
	Machine Machine
	Bytes   int64 // beyond what others have in common with them
	// Passing are the automatic ones that the machine does not return to by itself.
	Passing      int
	PassingBytes int64
}

// Passing says whether a checkpoint is kept for a while only: one that was made on its own and ends
// no branch.
func (c *CheckpointRecord) Passing() bool { return c.Kind == CheckpointAuto && c.Branch == "" }

// Pause stops the clock of a running instruction.
func (in *InstructionRecord) Pause(now time.Time) {
	if in.ResumedAt != nil {
		in.Ran += max(0, now.Sub(*in.ResumedAt))
		in.ResumedAt = nil
	}
}

// MaxCode is how many bytes of code an instruction may have.
const MaxCode = 4 << 20

// MaxErrorName is how much of an exception's name is kept, in bytes.
const MaxErrorName = 200

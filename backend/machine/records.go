package machine

import (
	"slices"
	"time"
)

// MachineRecord is a machine as the store keeps it: what people see (Machine, whose State, RunningSeq, Queued and
// Memory are live and not stored) and what the service needs to bring it back.
type MachineRecord struct {
	Machine

	// Aliases are names from before renames; they keep working.
	Aliases []string
	// Live says that the machine is, or may be, in memory. Found set when the daemon starts, its last daemon died.
	Live bool
	// Life names the last stay in memory; other than any before, and written down before it begins.
	Life string
	// Touched says that something other than an instruction changed the machine since Base: a file was put into it.
	Touched bool
	// Base is the checkpoint that the machine's present state is, or was brought into memory from; "" is the template.
	Base string
	// Fallback is the last checkpoint in which no instruction ran: what the machine returns to when its sandbox dies.
	Fallback string
	// NextNotice is told with the result of the next instruction.
	NextNotice string
}

// InstructionRecord is an instruction with what the service needs to go on with it.
type InstructionRecord struct {
	Instruction
	Progress
	// Key is what its sender called it, unique on its machine; "" for nothing. Copies of the machine do not have it.
	Key string
	// Ran is the running time up to ResumedAt, counted over all stays in memory.
	Ran time.Duration
	// ResumedAt is when it began to run, or last went on after its machine woke; nil when it is not in memory.
	ResumedAt *time.Time
	// Again says that it was given back to the queue, because the first sandbox died before it had begun. There is no third time.
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

// Mark is how much of the running instruction's output belongs to a checkpoint's past, for forks of it.
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
	// Clone says that the checkpoint was copied from another machine: Python's random state must be made new.
	Clone bool
	// Shrunk says that it was kept in the form that takes least room; see Checkpoints.Compact.
	Shrunk bool
	// Whole is how many bytes it has when it is not shrunk; 0 where that is not known.
	Whole int64
	// Mark is set when an instruction was not over for us; it may have ended in the checkpoint already.
	Mark *Mark
	// Lost are the instructions up to LastSeq whose effect is not in it, because of earlier rewinds.
	Lost []Span
	// Named says that somebody chose the name of the branch that ends here.
	Named bool
	// LeftAt is when a rewind left that branch; zero where none ends here.
	LeftAt time.Time
}

// lostFrom is the first instruction whose effect is not in the checkpoint: its beginning may be, but going on there is only
// what still runs for us.
func (c *CheckpointRecord) lostFrom(run *InstructionRecord) int {
	if r := c.RunningSeq; r != nil && (run == nil || run.Seq != *r) {
		return *r
	}
	return c.LastSeq + 1
}

// finished says whether an instruction that is not over for us is over in the checkpoint: waking from there, the runner
// tells its end again.
func (c *CheckpointRecord) finished(run *InstructionRecord) bool {
	return run != nil && c.RunningSeq == nil && c.LastSeq >= run.Seq
}

// comesFrom says whether a checkpoint's state came from that of another, be it by way of others. all are the machine's.
func (c *CheckpointRecord) comesFrom(id string, all []CheckpointRecord) bool {
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

// isPastOf says whether this checkpoint lies in the past of another: what has taken effect here has there, and of what came before
// nothing else has.
func (c *CheckpointRecord) isPastOf(later *CheckpointRecord) bool {
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

// Garbage is something of an engine's that is to be deleted: written down first, so that a crash forgets nothing.
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

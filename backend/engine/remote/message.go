package remote

import (
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Types of what the daemon asks, each on a stream of its own.
const (
	askHello   = "hello"
	askStart   = "start"
	askPipe    = "pipe" // what follows is the link of the supervisor of that number
	askReclaim = "reclaim"
	askPurge   = "purge"
	askFits    = "fits"
	askCheck   = "check"
	askCopy    = "copy"
	askPersist = "persist"
	askSeal    = "seal"
	askCompact = "compact"
	askCollect = "collect"
	askUsed    = "used"
	askMemory  = "memory" // how much there is, and how much is free
	askDelete  = "delete"
	askExport  = "export"
	askRead    = "read" // a file of what was exported under that number
	askImport  = "import"
)

// Types of what goes on on such a stream.
const (
	sayDone    = "done"    // agent: the last word, or of start the machine is in memory
	sayAttempt = "attempt" // agent: there is a supervisor, of that number
	sayLinked  = "linked"  // daemon: how the attempt went
	sayKill    = "kill"    // daemon: end the supervisor of that number
	sayGone    = "gone"    // agent: nothing is left of it
	sayRush    = "rush"    // daemon: a machine is about to stand still, to be saved
	sayCalm    = "calm"    // daemon: it has been
	sayDamaged = "damaged" // daemon: what helps against the damage?
	sayHelps   = "helps"   // agent: the answer
	sayFile    = "file"    // agent: of import, send that file; daemon sends so many bytes
)

// ask is what the daemon says. Which fields mean something depends on the type.
type ask struct {
	Type       string     `json:"type"`
	Protocol   int        `json:"protocol,omitempty"`
	Owner      string     `json:"owner,omitempty"` // names the daemon's home: 32 hexadecimal digits
	Machine    machine.ID `json:"machine,omitempty"`
	To         machine.ID `json:"to,omitempty"`
	Checkpoint string     `json:"checkpoint,omitempty"`
	Image      string     `json:"image,omitempty"`
	MemoryMB   int        `json:"memory_mb,omitempty"`
	Life       string     `json:"life,omitempty"`
	Known      []string   `json:"known,omitempty"`
	Awaited    bool       `json:"awaited,omitempty"`
	Needs      *needs     `json:"needs,omitempty"`
	State      *state     `json:"state,omitempty"`
	File       string     `json:"file,omitempty"`
	Pipe       int        `json:"pipe,omitempty"`
	Failure    *failure   `json:"failure,omitempty"`
}

// answer is what the agent says.
type answer struct {
	Type       string      `json:"type"`
	Failure    *failure    `json:"failure,omitempty"` // nil where it worked
	Hello      *hello      `json:"hello,omitempty"`
	Checkpoint *checkpoint `json:"checkpoint,omitempty"`
	State      *state      `json:"state,omitempty"`
	Problems   []problem   `json:"problems,omitempty"`
	Bytes      int64       `json:"bytes,omitempty"`
	Total      int64       `json:"total,omitempty"` // of memory, in bytes
	File       string      `json:"file,omitempty"`
	Text       string      `json:"text,omitempty"`
	Pipe       int         `json:"pipe,omitempty"`
}

// hello is what an agent says of itself.
type hello struct {
	Protocol  int    `json:"protocol"`
	Version   string `json:"version"`   // of the program
	Processor string `json:"processor"` // as Go calls its architecture
}

// failure is an error: a sentence for a person, and its kind.
type failure struct {
	Kind    string `json:"kind,omitempty"`
	Message string `json:"message"`
}

type problem struct {
	What string `json:"what"`
	Do   string `json:"do"`
}

// checkpoint is machine.CheckpointInfo; durations in milliseconds.
type checkpoint struct {
	ID         string    `json:"id"`
	CreatedAt  time.Time `json:"created_at"`
	LastSeq    int       `json:"last_seq"`
	RunningSeq *int      `json:"running_seq,omitempty"`
	Size       int64     `json:"size"`
	Whole      int64     `json:"whole,omitempty"`
	Image      string    `json:"image"`
	Runtime    string    `json:"runtime"`
	PauseMS    int64     `json:"pause_ms,omitempty"`
}

// needs is machine.Needs.
type needs struct {
	Processor string   `json:"processor"`
	Features  []string `json:"features,omitempty"`
	Image     string   `json:"image"`
	Runtime   string   `json:"runtime"`
	Spec      string   `json:"spec"`
}

// state is machine.SavedState.
type state struct {
	CreatedAt time.Time   `json:"created_at"`
	LastSeq   int         `json:"last_seq"`
	Baseline  int64       `json:"baseline"`
	Needs     needs       `json:"needs"`
	Files     []stateFile `json:"files"`
}

type stateFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

func checkpointOf(c machine.CheckpointInfo) *checkpoint {
	return &checkpoint{c.ID, c.CreatedAt, c.LastSeq, c.RunningSeq, c.Size, c.Whole, c.Image, c.Runtime, c.Pause.Milliseconds()}
}

func needsOf(n machine.Needs) needs { return needs(n) }

func stateOf(s machine.SavedState) *state {
	out := &state{CreatedAt: s.CreatedAt, LastSeq: s.LastSeq, Baseline: s.Baseline, Needs: needsOf(s.Needs)}
	for _, f := range s.Files {
		out.Files = append(out.Files, stateFile(f))
	}
	return out
}

func (s *state) saved() machine.SavedState {
	out := machine.SavedState{CreatedAt: s.CreatedAt, LastSeq: s.LastSeq, Baseline: s.Baseline, Needs: machine.Needs(s.Needs)}
	for _, f := range s.Files {
		out.Files = append(out.Files, machine.StateFile(f))
	}
	return out
}

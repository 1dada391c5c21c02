// Package machine is the domain: machines, their instructions, the queue, states and events.
//
// It knows no engine, no HTTP and no SQL: what it needs of the world stands in ports.go. A machine
// is one stateful Python process in a sandbox; an instruction is one piece of code run on it.
// Instructions of one machine run one at a time, first in first out. A machine that is not in
// memory is swapped: its state lies in a checkpoint, and the next instruction wakes it without its
// client noticing.
package machine

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine/naming"
)

// ID names a machine forever. It is 16 hexadecimal digits, never shown to people, never reused;
// folders and rows are keyed by it, so that a rename touches nothing else.
type ID string

// State is where a machine is in its life. The legal changes between states stand in
// transitions.go.
type State string

const (
	// Swapped: not in memory, state in the last checkpoint (or the template, where there is none
	// yet).
	Swapped State = "swapped"
	// Waking: being restored into memory.
	Waking State = "waking"
	// Idle: in memory, nothing runs.
	Idle State = "idle"
	// Running: in memory, an instruction runs.
	Running State = "running"
	// Swapping: being checkpointed and freed.
	Swapping State = "swapping"
	// Deleted: in the bin, restorable until purged.
	Deleted State = "deleted"
)

// InMemory says whether a machine in this state holds memory (the wire's `running`).
func (s State) InMemory() bool { return s == Idle || s == Running || s == Swapping || s == Waking }

// DefaultMemoryMB is the memory limit of a machine where nobody says another, in MiB.
const DefaultMemoryMB = 2048

// Machine is what is known of one machine at one moment: a value, safe to keep.
type Machine struct {
	ID   ID
	Name string // unique among all machines, the bin included; friendly, like brave-otter-42
	// Title is what a person or a model calls it; empty when nobody did.
	Title string
	// Owner is the ID of the person of a team who made it, and whose it stays; empty for a machine
	// of the daemon's own user. It never changes.
	Owner string
	// DerivedTitle is what its first code, or who sent it, says that it is for, for people who see
	// it without a title; at most 60 characters that can all be seen. Empty while no code has said
	// anything.
	DerivedTitle string

	Tags     map[string]string
	Engine   string // "native", "docker", "hosted", or a place's name
	Image    string // "base", "ml"
	MemoryMB int    // limit of what its programs may use beyond the template, MiB

	State State
	// Notice is a sentence for the person: why the state was rolled back, why it could not wake.
	// Empty when all is well.
	Notice string
	// Paused says that a person put it to sleep while code ran. The code goes on when somebody
	// wakes the machine, stops the code or sends more.
	Paused bool
	// Failed says that the last step whose effect is there ended with an error.
	Failed bool
	// Waits says that the machine is to come into memory and waits for room, as Notice tells.
	Waits bool

	CreatedAt    time.Time
	LastActiveAt time.Time  // when the last instruction was queued or ended
	ExpiresAt    *time.Time // moves to the bin then; nil for never
	DeletedAt    *time.Time // when it was moved to the bin; nil when it is not there

	// Client is the program that sent the last instruction, or made the machine while there is
	// none; empty where that is not known.
	Client Client

	// Network is what the machine may reach, as far as the settings do not say.
	Network NetworkPolicy

	// Shared is the folder of this computer that the machine sees at SharedPath; nil for none.
	// Unshared says in a sentence why it does not see it; empty where it does, and until it first
	// comes into memory. CameUp tells the person of files that came up or changed there while code
	// could change it, and that programs act on without being asked.
	Shared   *SharedFolder
	Unshared string
	CameUp   string

	// Parent is the machine this one was forked from and the last instruction it shares with it;
	// nil for none.
	Parent *Parent

	// Branch is what somebody called the line of work that the machine is on; empty where nobody
	// did.
	Branch string
	// Undo is the checkpoint that the last rewind left, so that going back to it undoes that; empty
	// for none.
	Undo string

	NextSeq    int    // the sequence number that the next instruction gets
	RunningSeq *int   // the instruction that runs
	Queued     int    // instructions waiting
	Memory     *Stats // live figures; nil when not in memory
	Disk       *Disk  // as it was last looked at; nil when not known
}

// Parent says where a fork came from.
type Parent struct {
	ID      ID
	Name    string // at the time of the fork
	LastSeq int    // -1 when nothing had run
}

// Stats are a running machine's live figures.
type Stats struct {
	MemoryBytes int64   // resident memory of the sandbox
	UsedBytes   int64   // of the machine's own limit: what its programs use beyond the template
	CPUSeconds  float64 // since it came into memory
}

// UsedBy takes note of an instruction that was sent to the machine, and says whether that has
// changed what is on record of it.
func (m *Machine) UsedBy(in Instruction) bool {
	client, title := m.Client, m.DerivedTitle
	m.Client = in.Client
	if m.DerivedTitle == "" {
		m.DerivedTitle = naming.TitleOf(in.Summary, in.Code)
	}
	return m.Client != client || m.DerivedTitle != title
}

// Client is the program that sent an instruction.
type Client struct {
	Name    string // "Claude Desktop", "forevervm-sdk python", "window", …
	Version string
}

// Clean is the client fit to be shown and logged.
func (c Client) Clean() Client {
	return Client{Name: naming.CleanLine(c.Name), Version: naming.CleanLine(c.Version)}
}

// InstructionStatus is where an instruction is.
type InstructionStatus string

const (
	StatusQueued    InstructionStatus = "queued"
	StatusRunning   InstructionStatus = "running"
	StatusOK        InstructionStatus = "ok"
	StatusError     InstructionStatus = "error"
	StatusCancelled InstructionStatus = "cancelled" // never ran
)

// Done says whether nothing more will happen to the instruction.
func (s InstructionStatus) Done() bool {
	return s == StatusOK || s == StatusError || s == StatusCancelled
}

// Instruction is one piece of code run, or to be run, on a machine.
type Instruction struct {
	Machine ID
	Seq     int
	Code    string
	Client  Client
	// Summary is what its sender said that it does, in a few words for people; "" for nothing.
	Summary string
	Timeout time.Duration // of its own running time; 0 for none
	Formats []string      // figures wanted beside "png": "svg"

	Status    InstructionStatus
	QueuedAt  time.Time
	StartedAt *time.Time
	EndedAt   *time.Time
	Runtime   time.Duration

	// ErrorName is the exception's class ("ZeroDivisionError"), or "Timeout", "Cancelled",
	// "MachineStopped".
	ErrorName string
	// Value is repr() of the last expression; nil when there is none or it failed.
	Value *string
	// Error is the plain traceback, or our own sentence; empty unless Status is error or cancelled.
	Error string
	// ErrorANSI is the same traceback with colours, for our own window; may be empty.
	ErrorANSI string
	// Data are the value's rich representations, without text/plain; bounded by the runner.
	Data []Representation

	// RolledBack says that the effect of this instruction was lost when the machine fell back to an
	// earlier checkpoint. The record stands.
	RolledBack bool
	// Notice is a sentence shown with the result, such as "the machine was returned to …".
	Notice string

	// Items is how many output items exist; OutputBytes how many bytes of output there were in all;
	// OutputDropped how many of them are neither in the items nor in the overflow file.
	Items         int
	OutputBytes   int64
	OutputDropped int64
}

// ItemKind is what an output item holds.
type ItemKind string

const (
	ItemOutput  ItemKind = "output"  // bytes of one stream
	ItemDisplay ItemKind = "display" // something shown: a figure, a table
	ItemClear   ItemKind = "clear"   // what came before is replaced
)

// Item is one thing that an instruction put out, in order. The result is not an item: it ends the
// instruction.
type Item struct {
	Index  int // counts from 0 within the instruction, no gaps but those of dropped output
	Kind   ItemKind
	At     time.Time
	Stream string // "stdout" or "stderr", for output
	Text   []byte // for output; UTF-8 where the program wrote UTF-8, cut at character boundaries
	// Background marks output written while no instruction ran; it is shown with the last one.
	Background bool

	Representations []Representation // for display
	DisplayID       string           // for a display that is updated in place
	Update          bool
	Wait            bool // for clear: replace when the next item comes
}

// Bytes is how many bytes of text and of what is displayed the item has.
func (it *Item) Bytes() int {
	n := len(it.Text)
	for _, r := range it.Representations {
		n += len(r.Data)
	}
	return n
}

// Representation is one form of something rich.
type Representation struct {
	MIME string
	Data []byte // as is: PNG bytes, UTF-8 for text
	// Omitted is the size of the data where it is left out: in events, for what is not text of at
	// most 256 KiB.
	Omitted int
}

// Size is how many bytes the data has, left out or not.
func (r Representation) Size() int { return len(r.Data) + r.Omitted }

// IsText says whether the data is UTF-8 text.
func (r Representation) IsText() bool {
	return strings.HasPrefix(r.MIME, "text/") || r.MIME == "image/svg+xml" || r.MIME == "application/json" || strings.HasSuffix(r.MIME, "+json")
}

// CheckpointKind says why a checkpoint was made.
type CheckpointKind string

const (
	CheckpointAuto   CheckpointKind = "auto"   // once idle, on swap, on stop; thinned out with age, unless a branch ends in it
	CheckpointManual CheckpointKind = "manual" // asked for; kept until deleted
)

// Checkpoint is a saved state of a machine.
type Checkpoint struct {
	ID        string // unique forever; also the folder's name
	Machine   ID
	Kind      CheckpointKind
	Label     string
	CreatedAt time.Time
	// Parent is the checkpoint that its state came from; of those between that are gone, nothing is
	// told. Empty for the template, and where that was not kept.
	Parent string
	// Branch is the name of the branch that ends here; empty for none.
	Branch string
	// Present says that the machine's present state comes from here.
	Present bool
	// LastSeq is the highest instruction whose effect (or beginning, if it was running) is in it;
	// -1 for none.
	LastSeq int
	// RunningSeq is the instruction that was running in it and goes on after waking; nil for none.
	RunningSeq *int
	Size       int64         // bytes on disk
	Image      string        // digest of the sandbox image
	Runtime    string        // digest of runsc
	Pause      time.Duration // how long the machine stood still for it
}

// ClientUse is what is known of a program that uses machines.
type ClientUse struct {
	Client Client
	SeenAt time.Time // when it last said hello or sent an instruction
	Calls  int       // of tools, over MCP
}

// NewID makes up an ID.
func NewID() ID {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return ID(hex.EncodeToString(b[:]))
}

package machine

import (
	"io"
	"strconv"
	"strings"
	"time"
)

// CreateOptions are what may be said of a new machine; zero fields mean the default.
type CreateOptions struct {
	Name      string // a friendly one is made up when empty
	Title     string
	Tags      map[string]string
	MemoryMB  int // default 2048
	Engine    string
	Image     string // default "base"
	ExpiresAt *time.Time
	Network   NetworkPolicy
	Client    Client
	Owner     string // a fork has its parent's, whatever is said here
}

// Change is what may be changed of a machine; nil fields stay.
type Change struct {
	Name      *string
	Title     *string
	Tags      map[string]*string // a nil value removes the tag
	MemoryMB  *int               // at once, when in memory
	ExpiresAt **time.Time        // a pointer to nil: never
	Network   *NetworkChange     // at once; connections that are open stay, but where it is off they end when they next carry something
}

// ExecuteOptions are an instruction to be.
type ExecuteOptions struct {
	Code      string
	Timeout   time.Duration // 0: none
	Interrupt bool          // stop what runs and cancel what waits first
	Formats   []string      // "svg" in addition to PNG
	Client    Client
	// Summary is what the code does, in a few words for people; "" for nothing. It is cut to one
	// short line.
	Summary string
	// Key is what the sender calls the instruction; "" for nothing. Sent again with the same key it
	// does not run again.
	Key string
}

// Page is one page of a list. Next is "" on the last.
type Page[T any] struct {
	Items []T
	Next  string
}

// InstructionQuery chooses instructions of one machine.
type InstructionQuery struct {
	Before *int // only seq < Before
	After  *int // only seq > After
	Newest bool // newest first; else oldest first
	Limit  int  // default 50, at most 500
}

// PlotPlace is where something drawn stands in a machine's history.
type PlotPlace struct {
	Seq  int
	Item int // its index among the items of the instruction; -1 for the result
}

// String is the place as a cursor, such as "12.0" or "12.result".
func (p PlotPlace) String() string {
	item := "result"
	if p.Item >= 0 {
		item = strconv.Itoa(p.Item)
	}
	return strconv.Itoa(p.Seq) + "." + item
}

// ParsePlotPlace reads what String wrote.
func ParsePlotPlace(text string) (PlotPlace, error) {
	seq, item, found := strings.Cut(text, ".")
	p := PlotPlace{Item: -1}
	var err error
	if p.Seq, err = strconv.Atoi(seq); err == nil && item != "result" {
		p.Item, err = strconv.Atoi(item)
	}
	if !found || err != nil || p.Seq < 0 || p.Item < -1 {
		return p, Invalid("This is not where a page of plots ended: pass the next of the answer before.")
	}
	return p, nil
}

// PlotQuery chooses what a machine's instructions have drawn, newest first.
type PlotQuery struct {
	Before *PlotPlace // only what stands before
	Limit  int        // default 50, at most 200
}

// Plot is something drawn: a picture, or a figure as data. Its representations are told without
// their data.
type Plot struct {
	PlotPlace
	At              time.Time
	Representations []Representation
}

// SearchQuery is a full-text search over code and output; words as people type them, all must
// match.
type SearchQuery struct {
	Text    string
	Machine string // name; "" for all
	Cursor  string
	Limit   int
}

// SearchHit is an instruction found, with the place.
type SearchHit struct {
	MachineName string
	Seq         int
	At          time.Time
	Summary     string // what its sender said that it does; empty where nothing was said
	Code        string
	Field       string // "code", "output" or "result"
	Snippet     string // plain text with the matches between U+0001 and U+0002
}

// OutputReader reads an instruction's output; close it.
type OutputReader interface {
	io.ReadCloser
	Size() int64
}

// EventType is what an event tells.
type EventType string

const (
	EventMachine     EventType = "machine"     // Machine is new or changed
	EventPurged      EventType = "purged"      // Machine (ID and Name only) is gone for good
	EventInstruction EventType = "instruction" // Instruction is new or changed
	EventItem        EventType = "item"        // Item of Machine/Seq came
	EventCheckpoint  EventType = "checkpoint"  // checkpoints of Machine changed
	EventStatus      EventType = "status"      // Status changed: engines, disk, memory
	EventClient      EventType = "client"      // Client said that it is there
	EventConnection  EventType = "connection"  // Connection of Machine (ID and Name only) is new or got on
	EventPermission  EventType = "permission"  // Permission is new or answered
	EventReset       EventType = "reset"       // the position is unknown: reload
)

// Event is one thing that happened, pushed to anyone who watches.
type Event struct {
	ID          string // position, for resuming
	Type        EventType
	Machine     *Machine
	Instruction *Instruction
	Seq         int
	Item        *Item
	Status      *Status
	Client      *Client
	Connection  *Connection
	Permission  *Permission
}

// Status is the state of the whole.
type Status struct {
	Engines   []EngineStatus
	InMemory  int   // machines
	Running   int   // of them with an instruction running
	Total     int   // all but the bin
	Memory    int64 // bytes, of this computer, that all sandboxes take
	DiskFree  int64 // bytes, where the data lies
	DiskUsed  int64 // bytes, of our data
	Warnings  []string
	StartedAt time.Time
}

// EngineStatus says whether an engine can be used.
type EngineStatus struct {
	Name     string
	Default  bool
	Problems []Problem
	EngineNews
}

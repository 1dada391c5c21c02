package machine

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/forevervm/desktop/backend/machine/naming"
)

// Engine runs machines somewhere. It saves them among the Checkpoints of that place.
// Implementations pass engine/enginetest.
type Engine interface {
	// Name is "native", "docker", or that of a place.
	Name() string
	// Start brings a machine into memory from a checkpoint, or from the template where
	// Spec.Checkpoint is empty. It waits for a predecessor's supervisor that is still saving the
	// machine (its daemon died) to let go of it. The error is a sentence for a person; errors.Is
	// tells ErrCheckpointUnusable from the rest.
	Start(ctx context.Context, spec StartSpec) (Sandbox, error)
	// Reclaim tells, after a restart of the daemon, which checkpoint a machine's supervisor left
	// behind on its own in a life (its daemon had died); it waits until that supervisor has ended.
	// Nil when there is none newer than those of that life that are known, which are on record and
	// are never touched. What else that life left is removed.
	Reclaim(ctx context.Context, id ID, life string, known []string) (*CheckpointInfo, error)
	// Purge removes everything of a machine, once nothing of it runs: what the engine itself keeps
	// of it, and its checkpoints.
	Purge(ctx context.Context, id ID) error
	// MayShow says in a sentence why a machine, as it was saved in that checkpoint ("" for the
	// template of the image), cannot see a folder of this computer.
	MayShow(ctx context.Context, id ID, image, checkpoint string) error
	// CheckCompatible says why a state with these needs cannot be brought into memory here, in the
	// image of that name, and what to do: an ErrCheckpointUnusable. Nil where nothing is known
	// against it.
	CheckCompatible(ctx context.Context, image string, needs Needs) error
	// Check says in one sentence each what is wrong with this engine here, and what to do; empty
	// when it works.
	Check(ctx context.Context) []Problem
	// Close ends what the engine itself keeps running (never machines).
	Close() error
}

// Checkpoints keeps the saved states of all machines of a place. The engines of that place share
// them: what one has saved, another starts.
type Checkpoints interface {
	// Copy gives machine `to` its own copy of a checkpoint of machine `from`, crash-safe, and
	// returns it.
	Copy(ctx context.Context, from ID, checkpoint string, to ID) (CheckpointInfo, error)
	// Persist makes a checkpoint that Sandbox.Checkpoint returned survive a power cut: soon where
	// somebody awaits it, else with little written.
	Persist(ctx context.Context, id ID, checkpoint string, awaited bool) error
	// Seal keeps a checkpoint that is kept as it was written in a second form, too, which counts
	// where its files change on the disk. It reads all of them. What is sealed already, or shrunk,
	// stays as it is.
	Seal(ctx context.Context, id ID, checkpoint string) error
	// Compact keeps a checkpoint in the form that takes least room, and returns how many bytes it
	// takes then, beyond what others have in common with it. It can be used as before, only that
	// starting from it takes longer. What is shrunk already stays as it is.
	Compact(ctx context.Context, id ID, checkpoint string) (size int64, err error)
	// Collect gives back the room that shrunk checkpoints took which were deleted, and their
	// machines. It may be called at any time, and be cut off.
	Collect(ctx context.Context) error
	// Used tells how many bytes all shrunk checkpoints take. They have most of it in common.
	Used() (int64, error)
	// Delete removes a checkpoint's bytes; a missing one is no error.
	Delete(ctx context.Context, id ID, checkpoint string) error
	// Export opens a checkpoint to be read; the caller closes what it returns.
	Export(ctx context.Context, id ID, checkpoint string) (OpenState, error)
	// Import gives a machine that has no checkpoint one that came from elsewhere, and may be from
	// who means harm: it is of nobody's life, and survives a power cut when it is returned. next is
	// called for each of the state's files, in order; what it reads has to have the size that was
	// said.
	Import(ctx context.Context, id ID, state SavedState, next func(StateFile) (io.Reader, error)) (CheckpointInfo, error)
}

// Place is where machines are that take nothing of this computer: an engine elsewhere, with the
// checkpoints that it makes.
type Place interface {
	Engine
	Checkpoints
}

// Notifier is an Engine that tells of itself while it works: what it had to do without, and what it
// is busy with before machines can run.
type Notifier interface {
	// Notify has listen called with the engine's news, at once and whenever there are some, never
	// by two at a time. It must return quickly.
	Notify(listen func(EngineNews))
}

// Starter is an Engine that can start what it needs where that is installed and does not run.
type Starter interface {
	// StartUp returns when that runs, or at once where there is nothing to start. The error is a
	// sentence for a person.
	StartUp(ctx context.Context) error
}

// Rester is a Place that only runs while it is needed. To delete what nobody misses is no need.
type Rester interface {
	// Resting says that it does not run.
	Resting() bool
}

// Sized is a Place that tells of its memory.
type Sized interface {
	// Memory is how many bytes machines there can still take, and how many there are. A place that
	// rests is started for that.
	Memory(ctx context.Context) (free, total int64, err error)
}

// Needs are what a state can be brought into memory with, and with nothing else.
type Needs struct {
	Processor string   // its architecture, as Go calls it
	Features  []string // of the processor, as gVisor calls them; empty where that is not known
	Image     string   // digest of the sandbox image
	Runtime   string   // digest of runsc
	Spec      string   // names the sandbox's base spec
}

// SavedState is what a checkpoint consists of, wherever it is.
type SavedState struct {
	CreatedAt time.Time
	LastSeq   int   // the highest instruction whose effect is in it; -1 for none
	Baseline  int64 // bytes that the programs inside held before the machine was used
	Needs     Needs
	Files     []StateFile
}

// StateFile is one file of a state.
type StateFile struct {
	Name string
	Size int64
}

// Size is how many bytes all files of the state have.
func (s *SavedState) Size() int64 {
	var n int64
	for _, f := range s.Files {
		n += f.Size
	}
	return n
}

// OpenState is a checkpoint that can be read.
type OpenState struct {
	State SavedState
	Open  func(name string) (io.ReadCloser, error)
	Close func()
}

// EngineNews is what there is to know of an engine that works.
type EngineNews struct {
	Notes []string     // sentences
	Busy  *Preparation // nil for nothing
}

// Preparation is how far something has come that people wait for.
type Preparation struct {
	What        string // what is done, such as "Loading the sandbox image into Docker"
	Done, Total int64  // bytes
}

// Problem is something that keeps an engine from working.
type Problem struct {
	What string // what is wrong, a sentence
	Do   string // what to do about it, a sentence
}

// StartSpec is what an engine needs to know to bring a machine into memory.
type StartSpec struct {
	ID         ID
	Name       string // the machine's name: its host name inside, labels outside
	Image      string // "base" or "ml"
	MemoryMB   int
	Checkpoint string // "" for the template
	// Life names this stay in memory; every checkpoint made in it carries the name, for Reclaim.
	Life string
	// Clone says that the checkpoint belongs to another life (template, fork): reseed what Python
	// thinks is random.
	Clone bool
	// Acked is what the domain holds of instructions that the restored runner may still speak of;
	// of what is not said here it sends all again.
	Acked []Ack
	// Env is what the machine's environment gets, and Authorities are the certificate authorities,
	// in PEM, that its programs trust; empty for those of its image.
	Env         map[string]string
	Authorities []byte
	// Shared is a folder of this computer that is to be seen at SharedPath, and is never part of a
	// checkpoint; nil for none. Where it cannot be, the machine comes into memory all the same,
	// with an empty folder there, and Ready says why.
	Shared *SharedFolder
	// Connect takes each connection that code in the machine opens to the proxy on its loopback; it
	// returns when that is over. The connection is its own, and untrusted. Nil where the machine
	// has no network.
	Connect func(net.Conn)
}

// Ack names the last frame of an instruction that is stored for good.
type Ack struct {
	Seq   int
	Index int
}

// Sandbox is one machine in memory. All methods may be called from any goroutine.
type Sandbox interface {
	// Ready is what the runner said when it was ready.
	Ready() Ready
	// Frames delivers what the runner puts out, in order; closed when the sandbox has ended. Must
	// be read without long pauses: an unread frame holds up the machine's output, never its control
	// messages.
	Frames() <-chan Frame
	// Ended is closed with the sandbox; Cause then says why.
	Ended() <-chan struct{}
	Cause() Cause

	Execute(ctx context.Context, seq int, code string, formats []string) error
	// Interrupt asks the running instruction to stop; repeated calls ask harder. The result frame
	// tells.
	Interrupt(ctx context.Context, seq int) error
	Cancel(ctx context.Context, seq int) error
	// Ack tells that everything of an instruction up to and including index is stored for good.
	Ack(seq, index int)

	// Checkpoint saves the state and keeps running. It survives the death of this process and can
	// be used at once; Checkpoints.Persist makes it durable. goesOn, which may be nil, is called
	// when the state has been taken and the machine goes on, where there is more to do until it can
	// be used.
	Checkpoint(ctx context.Context, goesOn func()) (CheckpointInfo, error)
	// Stop saves the state, ends the sandbox and returns the checkpoint, durable.
	Stop(ctx context.Context) (CheckpointInfo, error)
	// Kill ends the sandbox without saving.
	Kill()

	SetMemoryLimit(ctx context.Context, memoryMB int) error
	Stats(ctx context.Context) (Stats, error)
	Complete(ctx context.Context, code string, cursor int) (Completions, error)
	Inspect(ctx context.Context, code string, cursor, detail int) (Inspection, error)
	Variables(ctx context.Context, limit int) ([]Variable, error)
	// Table reads a page of a table. What the machine cannot give in a second it refuses.
	Table(ctx context.Context, q TableQuery) (Table, error)
	// SaveTable writes all rows that the query's filters leave to a new file, whose path in the
	// machine it returns; see Handle.
	SaveTable(ctx context.Context, q TableQuery, format TableFormat) (path string, err error)
	Files
}

// Files are a machine's files. Relative paths are under its home. What they tell comes from inside,
// and may be made up.
type Files interface {
	ReadFile(ctx context.Context, path string, offset int64, length int) (FileChunk, error)
	WriteFile(ctx context.Context, piece FilePiece) error
	ListFiles(ctx context.Context, path string, limit int) (FileList, error)
	// StatFile follows links.
	StatFile(ctx context.Context, path string) (FileEntry, error)
	// RemoveFile removes a file, or a folder with all that is in it.
	RemoveFile(ctx context.Context, path string) error
	// MakeFolder makes those above it, too; one that is there is no error.
	MakeFolder(ctx context.Context, path string) error
	Disk(ctx context.Context) (Disk, error)
}

// Disconnecter is a Sandbox that can be let go of as if this process had died: its supervisor saves
// the machine on its own, and Reclaim finds that. The service does so with what it could not save
// in time when it ends.
type Disconnecter interface {
	Disconnect()
}

// Exchange carries files between the person's folder and machines: what lies there into their
// inboxes, and what they put into their outboxes back there. Its methods may be called from any
// goroutine.
type Exchange interface {
	// Concerns says whether code that runs in a machine may look into its inbox, or has something
	// to do with its outbox. It is quick.
	Concerns(id ID, code string) bool
	// Fill makes a machine's inbox what the person's folder holds. notice is a sentence for the
	// person where something could not be brought.
	Fill(ctx context.Context, id ID, files Files) (notice string, err error)
	// Collect brings what is new in a machine's outbox to the person's folder; notice as with Fill.
	Collect(ctx context.Context, m Machine, files Files) (notice string, err error)
	// Results returns the path of the folder that Collect has brought a machine's files to; ""
	// where there is none.
	Results(m Machine) string
	// Forget drops what is known of a machine that is no more. What it has brought stays the
	// person's.
	Forget(id ID)
}

// ShareWatch looks at folders that code in machines may change for files that programs on this
// computer act on without being asked, like a repository's settings. Its methods are called by one
// goroutine at a time for one machine.
type ShareWatch interface {
	// Look returns sentences for the person, "" for nothing to tell. news is about what came up or
	// changed in the folder since the last Look for that machine, all about everything since its
	// first. The first Look for a folder tells nothing. last says that the machine cannot change
	// the folder from now on: the next Look passes over what has changed by then. An error is none
	// of the folder's absence.
	Look(ctx context.Context, id ID, folder string, last bool) (news, all string, err error)
	// Forget drops what is known of a machine's folder: the next Look is the first.
	Forget(id ID)
}

// Ready is the runner's answer to being started or restored.
type Ready struct {
	Python  string // version
	LastSeq int    // highest instruction it was ever given; -1 for none
	Running *int
	Queued  []int
	// Unshared says why StartSpec.Shared is not seen inside; empty where it is.
	Unshared Unshared
}

// CauseKind says how a sandbox ended.
type CauseKind string

const (
	EndedStopped CauseKind = "stopped" // by Stop; saved
	EndedKilled  CauseKind = "killed"  // by Kill
	EndedExited  CauseKind = "exited"  // Python ended itself, or was ended from inside
	EndedMemory  CauseKind = "memory"  // stopped for what it took; saved if Checkpoint is set
	EndedBroken  CauseKind = "broken"  // supervisor or runsc died, or broke the protocol
	EndedApart   CauseKind = "apart"   // the connection to its place is lost; it saves itself there, and Reclaim finds that
	EndedDamaged CauseKind = "damaged" // its saved memory, which is read as it is used, is not what was saved
)

// Cause is why a sandbox ended.
type Cause struct {
	Kind       CauseKind
	Detail     string // a sentence: "Python was ended by signal 11 (segmentation fault)"
	OwnLimit   bool   // of EndedMemory: it took more than it may, however much the computer has
	Checkpoint *CheckpointInfo
}

// CheckpointInfo is what an engine knows of a checkpoint that it made.
type CheckpointInfo struct {
	ID         string
	CreatedAt  time.Time
	LastSeq    int
	RunningSeq *int
	Size       int64
	Whole      int64 // what Size was before it was shrunk
	Image      string
	Runtime    string
	Pause      time.Duration // how long the machine stood still
}

// Frame is one thing that the runner said of an instruction, validated and bounded by the engine.
type Frame struct {
	Type  FrameType
	Seq   int
	Index int
	At    time.Time // started: the runner's clock

	Item   Item   // for FrameItem; Index set
	Result Result // for FrameResult
}

// FrameType is what a Frame holds.
type FrameType int

const (
	FrameStarted FrameType = iota
	FrameItem
	FrameResult
	FrameBackground // Item holds it; Seq and Index mean nothing; may be lost
)

// Result is how an instruction ended, as the runner tells it.
type Result struct {
	Runtime   time.Duration
	OK        bool
	ErrorName string
	Value     *string
	Error     string // plain traceback
	ErrorANSI string // the same with colours
	Data      []Representation
	Truncated bool
}

// Completions of code at a cursor; offsets in code points.
type Completions struct {
	Matches    []string
	Start, End int
}

// Inspection is what is known of the name at a cursor.
type Inspection struct {
	Found bool
	Text  string // plain
}

// Variable is a name of the user's in a machine.
type Variable struct {
	Name    string
	Type    string
	Kind    string // value, function, class, module
	Shape   string // "(3, 4)", "12", or ""
	Size    int64  // bytes, where cheap to know; -1 otherwise
	Preview string
}

// TableFormat is what a table is saved as.
type TableFormat string

const (
	TableCSV  TableFormat = "csv"
	TableXLSX TableFormat = "xlsx"
)

// TableQuery chooses a page of a variable that is a table: a data frame, a series or an array.
type TableQuery struct {
	Name        string
	Offset      int // of rows, once they are sorted and filtered
	Limit       int // rows
	FirstColumn int
	Columns     int
	Sort        *TableSort // nil: as they stand
	Filters     []TableFilter
	About       bool // tell what the columns hold, in place of rows
}

// TableSort sorts the rows by a column; -1 is the index.
type TableSort struct {
	Column     int
	Descending bool
}

// TableFilter leaves the rows whose value in a column, -1 for the index, passes a test: contains,
// eq, ne, lt, le, gt or ge.
type TableFilter struct {
	Column int
	Test   string
	Value  string // compared as what the column holds
}

// Table is a page of a table, as text: as hostile as what the machine prints.
type Table struct {
	Rows        int64 // of the whole
	Matching    int64 // that the filters leave
	Width       int64 // columns of the whole
	Offset      int   // of the first row here, among those that match
	FirstColumn int
	Columns     []TableColumn
	Index       []string
	Cells       [][]*string // by row; nil where there is no value
}

// TableColumn is a column of a Table.
type TableColumn struct {
	Name   string
	Type   string
	Number bool
	About  *ColumnAbout // where it was asked for, and can be told
}

// ColumnAbout is what a column holds, in the rows that match.
type ColumnAbout struct {
	Missing   int64  // rows without a value
	Low, High string // of numbers and times; empty for others
	// Counts are how many values are in each of equal parts of the range from Low to High.
	Counts []int64
	// Top are the values that are there most often, and Distinct is how many different ones there
	// are, where the column holds no numbers or times.
	Top      []ValueCount
	Distinct *int64 // nil where it is not known
	// Sampled says that of many rows only some were looked at, evenly taken; Missing is of all.
	Sampled bool
}

// ValueCount is a value and how many rows have it.
type ValueCount struct {
	Value string
	Count int64
}

// FileChunk is a part of a file.
type FileChunk struct {
	Data []byte
	Size int64 // of the whole file
	EOF  bool
	// Version is another one when the file has changed.
	Version int64
}

// FilePiece is a part of a file that is sent into a machine. The file lies unseen beside its place
// until the last piece brings it there, whole.
type FilePiece struct {
	Path   string
	Part   string // names this sending: 32 hexadecimal digits
	Offset int64  // where Data begins; there is no gap before it
	Data   []byte // at most 4 MiB; the same piece may be sent twice
	Last   bool

	Modified time.Time // of the whole file, with Last; zero for now
	ReadOnly bool      // with Last
}

// FileKind is what a name in a folder stands for.
type FileKind string

const (
	FilePlain  FileKind = "file"
	FileFolder FileKind = "folder"
	FileLink   FileKind = "link"
	FileOther  FileKind = "other" // a pipe, a socket, a device
)

// FileEntry is one name in a folder.
type FileEntry struct {
	Name     string
	Kind     FileKind
	Size     int64
	Modified time.Time // zero where that makes no sense
}

// FileList is what is in a folder.
type FileList struct {
	Path    string // of the folder, absolute
	Entries []FileEntry
	More    bool // there are more than were asked for
}

// Disk is the room for what a machine has written, in bytes.
type Disk struct {
	Used int64
	Size int64 // the most that it may take
}

// How says how an instruction ended, as the end of a sentence.
func (r *Result) How() string {
	if r.OK {
		return "and got to its end"
	}
	return "until it ended with " + naming.Clip(r.ErrorName, MaxErrorName)
}

// Bytes is how many bytes of output, displays and values the frame has.
func (f *Frame) Bytes() int {
	n := f.Item.Bytes()
	for _, r := range f.Result.Data {
		n += len(r.Data)
	}
	return n
}

package protocol

import "encoding/json"

// Version is the version of the link between daemon and supervisor. Both ends come from one
// release; a mismatch means a half-finished update and is told as such.
const Version = 1

// Types of messages on the link. Those not named here have the runner's names and are passed on.
const (
	TypeControl    = "control" // opens the control stream
	TypeFrames     = "frames"  // opens the stream of the runner's frames
	TypeStart      = "start"
	TypeStop       = "stop"
	TypeCheckpoint = "checkpoint"
	TypeDiscard    = "discard"
	TypeStats      = "stats"
	TypeEnded      = "ended"
	TypeConnect    = "connect" // opens, from the supervisor's side, the stream of a connection to the outside
)

// Types of requests to the runner.
const (
	TypeResume    = "resume"
	TypeExecute   = "execute"
	TypeInterrupt = "interrupt"
	TypeCancel    = "cancel"
	TypeAck       = "ack"
	TypeComplete  = "complete"
	TypeInspect   = "inspect"
	TypeVariables = "variables"
	TypeTable     = "table"
	TypeSaveTable = "save_table"
	TypeReadFile  = "read_file"
	TypeWriteFile = "write_file"
	TypeListFiles = "list_files"
	TypeStatFile  = "stat_file"
	TypeRemove    = "remove_file"
	TypeFolder    = "make_folder"
	TypeDisk      = "disk"
	TypeLimit     = "limit"
	TypeTrust     = "trust"
)

// MaxFileChunk bounds how much of a file one request moves, in bytes.
const MaxFileChunk = 4 << 20

// Request is any request of the link and, but for Start's fields, any to the runner. Which fields
// mean something follows from Type.
type Request struct {
	Type    string   `json:"type"`
	ID      uint64   `json:"id,omitempty"`
	Seq     int      `json:"seq"`
	Index   int      `json:"index"`
	Formats []string `json:"formats,omitempty"`
	Cursor  int      `json:"cursor"`
	Detail  int      `json:"detail,omitempty"`
	Limit   int      `json:"limit"`
	Path    string   `json:"path,omitempty"`
	Offset  int64    `json:"offset,omitempty"`
	Length  int      `json:"length"`
	// Part names a file that is on its way, in pieces; Last ends it. Changed is then its time in
	// nanoseconds since 1970, 0 for now.
	Part     string `json:"part,omitempty"`
	Last     bool   `json:"last,omitempty"`
	Changed  int64  `json:"changed,omitempty"`
	ReadOnly bool   `json:"read_only,omitempty"`
	// LimitBytes is the machine's own memory limit; null takes it away.
	LimitBytes *int64 `json:"limit_bytes,omitempty"`
	// Checkpoint is the id of one that the daemon has carried away.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Digest names the payload.
	Digest string `json:"digest,omitempty"`

	Start *Start `json:"start,omitempty"`
}

// Start says what becomes of the sandbox once it is in memory.
type Start struct {
	Version    int      `json:"version"`
	Name       string   `json:"name"`
	LimitBytes int64    `json:"limit_bytes"`
	Acked      [][2]int `json:"acked"`
	// Clone says that the checkpoint belongs to another life: what Python thinks is random is
	// reseeded too.
	Clone bool `json:"clone"`
	// Life names this stay in memory; the checkpoints that are made in it carry the name.
	Life string `json:"life"`
	// Unsynced says that the daemon itself makes the checkpoints durable that it asks for while the
	// machine goes on.
	Unsynced bool `json:"unsynced,omitempty"`
	// After is the id of the machine's newest checkpoint, where the supervisor cannot see it: new
	// ones are numbered on from there.
	After string `json:"after,omitempty"`
	// Env is what the machine's environment gets, unless its code has changed it.
	Env map[string]string `json:"env,omitempty"`
	// Rehearse is for the runner: see Resume.
	Rehearse bool `json:"rehearse,omitempty"`
}

// Reply answers the request with the same ID. Error is a sentence for a person, Kind one of the
// Kind constants.
type Reply struct {
	Type   string          `json:"type"`
	ID     uint64          `json:"id"`
	OK     bool            `json:"ok"`
	Error  string          `json:"error,omitempty"`
	Kind   string          `json:"kind,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Kinds of failures.
const (
	KindDiskFull    = "disk_full"
	KindUnusable    = "checkpoint_unusable"
	KindInvalid     = "invalid"
	KindConflict    = "conflict"
	KindUnavailable = "unavailable"
	KindBusy        = "busy" // Python has no time to answer now
)

// Stats is the result of a stats request.
type Stats struct {
	MemoryBytes int64   `json:"memory_bytes"`
	UsedBytes   int64   `json:"used_bytes"`
	CPUSeconds  float64 `json:"cpu_seconds"`
}

// Why a sandbox ended; the words are machine.CauseKind's.
const (
	CauseStopped = "stopped"
	CauseExited  = "exited"
	CauseMemory  = "memory"
	CauseBroken  = "broken"
	CauseDamaged = "damaged"
)

// Ended is the last frame on the stream of frames.
type Ended struct {
	Type       string          `json:"type"`
	Cause      string          `json:"cause"`
	Detail     string          `json:"detail"`
	OwnLimit   bool            `json:"own_limit,omitempty"`  // of memory: it took more than it may
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"` // a manifest, where the state was saved
}

// File is the result of read_file.
type File struct {
	Size    int64 `json:"size"`
	EOF     bool  `json:"eof"`
	Changed int64 `json:"changed"`
}

// Entry is the result of stat_file, and one of list_files.
type Entry struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Size    int64  `json:"size"`
	Changed int64  `json:"changed"`
}

// Disk is the result of disk.
type Disk struct {
	Size int64 `json:"size"`
	Free int64 `json:"free"`
}

// Package api holds the JSON types of the daemon's own API under /api (openapi.yaml is its description): a leaf,
// shared by the server and the client. Times are RFC 3339, UTC; sizes are bytes.
package api

import "time"

// Machine is a machine as the API shows it.
type Machine struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Title        string            `json:"title,omitempty"`
	DerivedTitle string            `json:"derived_title,omitempty"` // what its first code says that it is for
	Tags         map[string]string `json:"tags"`
	Engine       string            `json:"engine"`
	Image        string            `json:"image"`
	MemoryMB     int               `json:"memory_mb"`
	State        string            `json:"state"` // swapped, waking, idle, running, swapping, deleted
	Notice       string            `json:"notice,omitempty"`
	Waits        bool              `json:"waits,omitempty"` // for room in memory, as the notice says
	CreatedAt    time.Time         `json:"created_at"`
	LastActiveAt time.Time         `json:"last_active_at"`
	ExpiresAt    *time.Time        `json:"expires_at"`
	DeletedAt    *time.Time        `json:"deleted_at,omitempty"`
	Client       *Client           `json:"client,omitempty"` // that sent the last instruction, or made it; absent where that is not known
	Parent       *Parent           `json:"parent,omitempty"`
	Branch       string            `json:"branch,omitempty"` // what somebody called the line of work that it is on
	Undo         string            `json:"undo,omitempty"`   // the checkpoint that the last rewind left: going back to it undoes that
	NextSeq      int               `json:"next_seq"`
	RunningSeq   *int              `json:"running_seq,omitempty"`
	Queued       int               `json:"queued"`
	Stats        *Stats            `json:"stats,omitempty"`
	Network      NetworkPolicy     `json:"network"`
	Shared       *SharedFolder     `json:"shared,omitempty"`
	Disk         *Disk             `json:"disk,omitempty"` // as it was last looked at; absent where that has not happened
}

// SharedFolder is a folder of the daemon's computer that code in a machine finds at /mnt/shared. Path and Writable are the body of PUT /api/machines/{name}/shared.
type SharedFolder struct {
	Path     string `json:"path"`
	Writable bool   `json:"writable,omitempty"`
	Problem  string `json:"problem,omitempty"` // sentences: why the machine does not see it, and what came up there that programs act on
}

// Parent says which machine a fork came from.
type Parent struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	LastSeq int    `json:"last_seq"`
}

// Stats are live figures of a machine in memory.
type Stats struct {
	MemoryBytes int64   `json:"memory_bytes"`
	UsedBytes   int64   `json:"used_bytes"` // of memory_mb
	CPUSeconds  float64 `json:"cpu_seconds"`
}

// Disk is the room for what a machine has written.
type Disk struct {
	UsedBytes int64 `json:"used_bytes"`
	SizeBytes int64 `json:"size_bytes"` // the most that it may take
}

// NewMachine is the body of POST /api/machines and, its zero fields taken from the parent, of …/fork.
type NewMachine struct {
	Name       string            `json:"name,omitempty"`
	Title      string            `json:"title,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	MemoryMB   int               `json:"memory_mb,omitempty"`
	Engine     string            `json:"engine,omitempty"`
	Image      string            `json:"image,omitempty"`
	ExpiresAt  *time.Time        `json:"expires_at,omitempty"`
	Checkpoint string            `json:"checkpoint,omitempty"` // fork only; "" is the present state
}

// MachineChange is the body of PATCH /api/machines/{name}; absent fields stay, a null tag is removed, a null
// expires_at means never.
type MachineChange struct {
	Name      *string            `json:"name,omitempty"`
	Title     *string            `json:"title,omitempty"`
	Tags      map[string]*string `json:"tags,omitempty"`
	MemoryMB  *int               `json:"memory_mb,omitempty"`
	ExpiresAt *OptionalTime      `json:"expires_at,omitempty"`
	Network   *NetworkChange     `json:"network,omitempty"`
}

// OptionalTime is a time or null, told apart from absent by its pointer.
type OptionalTime struct{ Time *time.Time }

// MarshalJSON writes the time or null.
func (o OptionalTime) MarshalJSON() ([]byte, error) {
	if o.Time == nil {
		return []byte("null"), nil
	}
	return o.Time.MarshalJSON()
}

// Execute is the body of POST /api/machines/{name}/instructions.
type Execute struct {
	Code           string   `json:"code"`
	TimeoutSeconds float64  `json:"timeout_seconds,omitempty"` // absent or 0: none
	Interrupt      bool     `json:"interrupt,omitempty"`
	Formats        []string `json:"formats,omitempty"`
	// Key names the instruction, at most 64 bytes: sent again with it, say because the connection broke, it does not run again.
	Key string `json:"key,omitempty"`
}

// Client is the program that sent an instruction: from the headers X-Forevervm-Client ("name/version"), else
// X-Forevervm-Sdk, else User-Agent.
type Client struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Instruction is a piece of code and how it went.
type Instruction struct {
	Machine        string     `json:"machine"` // its name
	Seq            int        `json:"seq"`
	Code           string     `json:"code"`
	Client         Client     `json:"client"`
	TimeoutSeconds float64    `json:"timeout_seconds,omitempty"`
	Status         string     `json:"status"` // queued, running, ok, error, cancelled
	QueuedAt       time.Time  `json:"queued_at"`
	StartedAt      *time.Time `json:"started_at,omitempty"`
	EndedAt        *time.Time `json:"ended_at,omitempty"`
	RuntimeMS      int64      `json:"runtime_ms"`

	Value     *string          `json:"value,omitempty"`
	ErrorName string           `json:"error_name,omitempty"`
	Error     string           `json:"error,omitempty"`
	ErrorANSI string           `json:"error_ansi,omitempty"`
	Data      []Representation `json:"data,omitempty"`

	RolledBack    bool   `json:"rolled_back,omitempty"`
	Notice        string `json:"notice,omitempty"`
	Items         int    `json:"items"`
	OutputBytes   int64  `json:"output_bytes"`
	OutputDropped int64  `json:"output_dropped,omitempty"`
}

// Item is one thing that an instruction put out.
type Item struct {
	Index           int              `json:"index"`
	Kind            string           `json:"kind"` // output, display, clear
	At              time.Time        `json:"at"`
	Stream          string           `json:"stream,omitempty"` // stdout, stderr
	Text            string           `json:"text,omitempty"`   // ANSI kept; invalid UTF-8 replaced
	Background      bool             `json:"background,omitempty"`
	Representations []Representation `json:"representations,omitempty"`
	DisplayID       string           `json:"display_id,omitempty"`
	Update          bool             `json:"update,omitempty"`
	Wait            bool             `json:"wait,omitempty"`
}

// Representation is one form of something rich. Text forms (text/*, JSON, SVG) up to 256 KiB come along as Text;
// everything can be fetched from Href with the token as a header.
type Representation struct {
	MIME string `json:"mime"`
	Size int64  `json:"size"`
	Text string `json:"text,omitempty"`
	Href string `json:"href"` // /api/machines/{name}/instructions/{seq}/data/{item index | "result"}/{n}
}

// Plot is something that an instruction has drawn. Its representations come without text.
type Plot struct {
	Seq             int              `json:"seq"`
	Place           string           `json:"place"` // the index of the item, or "result"
	At              time.Time        `json:"at"`
	Representations []Representation `json:"representations"`
}

// Checkpoint is a state that a machine can return to.
type Checkpoint struct {
	ID         string    `json:"id"`
	Kind       string    `json:"kind"` // auto, manual
	Label      string    `json:"label,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	LastSeq    int       `json:"last_seq"`
	RunningSeq *int      `json:"running_seq,omitempty"`
	Size       int64     `json:"size"`
	PauseMS    float64   `json:"pause_ms"`         // how long the machine stood still for it; 0 where that was not kept
	Parent     string    `json:"parent,omitempty"` // the checkpoint that its state came from; absent for none, and where that is not known
	Branch     string    `json:"branch,omitempty"` // the name of the branch that ends here
}

// NewCheckpoint is the body of POST /api/machines/{name}/checkpoints and of PATCH …/checkpoints/{id}.
type NewCheckpoint struct {
	Label string `json:"label,omitempty"`
}

// Rewind is the body of POST /api/machines/{name}/rewind.
type Rewind struct {
	Checkpoint string `json:"checkpoint"`        // or the name of a branch
	KeepAs     string `json:"keep_as,omitempty"` // what to call the branch that is left; a name is made up where absent
}

// Branch is a line of work that a rewind left.
type Branch struct {
	Name       string    `json:"name"`
	Named      bool      `json:"named"`      // by somebody; else only the last 20 are kept
	Checkpoint string    `json:"checkpoint"` // where it ends
	LastSeq    int       `json:"last_seq"`   // of that checkpoint
	Steps      int       `json:"steps"`      // instructions whose effect it has, and the present state has not
	LeftAt     time.Time `json:"left_at"`
}

// Comparison is in what two states of a machine differ. What it tells of variables and files comes from inside, and may be made up.
type Comparison struct {
	From      Point            `json:"from"`
	To        Point            `json:"to"`
	Variables []VariableChange `json:"variables"`
	Unsure    []string         `json:"unsure"` // variables that look the same, and could not be compared to the end
	Files     []FileChange     `json:"files"`  // under the working folder
	OnlyFrom  []Step           `json:"only_from"`
	OnlyTo    []Step           `json:"only_to"`
	Partial   bool             `json:"partial,omitempty"` // there are more variables, files or folders than were looked at
}

// Point is a state that was compared.
type Point struct {
	Checkpoint string     `json:"checkpoint,omitempty"` // absent for the beginning
	Present    bool       `json:"present,omitempty"`
	Label      string     `json:"label,omitempty"`
	Branch     string     `json:"branch,omitempty"`
	LastSeq    int        `json:"last_seq"`
	CreatedAt  *time.Time `json:"created_at,omitempty"`
}

// VariableChange is a variable that differs.
type VariableChange struct {
	Name   string    `json:"name"`
	Change string    `json:"change"` // added, removed, changed
	Before *Variable `json:"before,omitempty"`
	After  *Variable `json:"after,omitempty"`
}

// FileChange is a file or folder that differs.
type FileChange struct {
	Path   string `json:"path"`   // relative to the working folder
	Change string `json:"change"` // added, removed, changed
	Before *File  `json:"before,omitempty"`
	After  *File  `json:"after,omitempty"`
	Unsure bool   `json:"unsure,omitempty"` // it was written, has the same size, and could not be compared
}

// Step is an instruction whose effect is in one of two states alone.
type Step struct {
	Seq   int    `json:"seq"`
	Title string `json:"title,omitempty"` // one line of its code
}

// BranchChange is the body of PATCH /api/machines/{name}/branches/{branch}.
type BranchChange struct {
	Name string `json:"name"`
}

// CodeAt is the body of POST …/complete and …/inspect. Cursor counts code points.
type CodeAt struct {
	Code   string `json:"code"`
	Cursor int    `json:"cursor"`
	Detail int    `json:"detail,omitempty"`
}

// Completions answer …/complete.
type Completions struct {
	Matches []string `json:"matches"`
	Start   int      `json:"start"`
	End     int      `json:"end"`
}

// Inspection answers …/inspect.
type Inspection struct {
	Found bool   `json:"found"`
	Text  string `json:"text"`
}

// Variable is a name of the user's in a machine.
type Variable struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Kind    string `json:"kind"`
	Shape   string `json:"shape,omitempty"`
	Size    int64  `json:"size"` // -1: unknown
	Preview string `json:"preview,omitempty"`
}

// TableQuery is the body of POST …/table: which page of a variable that is a table.
type TableQuery struct {
	Variable    string        `json:"variable"`
	Offset      int           `json:"offset,omitempty"`
	Limit       int           `json:"limit,omitempty"` // rows, at most 200
	FirstColumn int           `json:"first_column,omitempty"`
	Columns     int           `json:"columns,omitempty"` // at most 50
	Sort        *TableSort    `json:"sort,omitempty"`
	Filters     []TableFilter `json:"filters,omitempty"`
}

// TableSort sorts rows by a column; -1 is the index.
type TableSort struct {
	Column     int  `json:"column"`
	Descending bool `json:"descending,omitempty"`
}

// TableFilter leaves rows whose value in a column passes a test.
type TableFilter struct {
	Column int    `json:"column"` // -1 is the index
	Test   string `json:"test"`   // contains, eq, ne, lt, le, gt, ge
	Value  string `json:"value"`
}

// Table answers …/table.
type Table struct {
	Rows        int64         `json:"rows"`     // of the whole
	Matching    int64         `json:"matching"` // that the filters leave
	Width       int64         `json:"width"`    // columns of the whole
	Offset      int           `json:"offset"`
	FirstColumn int           `json:"first_column"`
	Columns     []TableColumn `json:"columns"`
	Items       []TableRow    `json:"items"`
}

// TableColumn is a column of a Table.
type TableColumn struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Number bool   `json:"number"`
}

// TableRow is a row of a Table: its label, and a text for each of the columns, null where there is no value.
type TableRow struct {
	Index string    `json:"index"`
	Cells []*string `json:"cells"`
}

// File is one name in a folder of a machine.
type File struct {
	Name     string     `json:"name"`
	Kind     string     `json:"kind"` // file, folder, link, other
	Dir      bool       `json:"dir"`  // it is a folder
	Size     int64      `json:"size"`
	Modified *time.Time `json:"modified,omitempty"` // absent where what the machine says makes no sense
}

// FileList is a folder of a machine.
type FileList struct {
	Items []File `json:"items"`
	Path  string `json:"path"`           // of the folder, absolute
	More  bool   `json:"more,omitempty"` // there are more than are told
}

// SearchHit is an instruction found.
type SearchHit struct {
	Machine string    `json:"machine"`
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Field   string    `json:"field"` // code, output, result
	Snippet string    `json:"snippet"`
}

// List is one page of anything; Next is the cursor of the following one, absent on the last.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// Event is one line of GET /api/events (newline-delimited JSON). `after=ID` resumes; a type of "reset" means that the
// position is unknown and everything must be loaded again. "ping" lines keep the connection alive. `type=` chooses among the others.
type Event struct {
	ID          string       `json:"id,omitempty"`
	Type        string       `json:"type"` // machine, purged, instruction, item, checkpoint, connection, status, client, reset, ping
	Machine     *Machine     `json:"machine,omitempty"`
	Name        string       `json:"name,omitempty"` // of the machine, for item, checkpoint, connection and purged
	Seq         int          `json:"seq,omitempty"`
	Instruction *Instruction `json:"instruction,omitempty"`
	Item        *Item        `json:"item,omitempty"`
	Status      *Status      `json:"status,omitempty"`
	Client      *Client      `json:"client,omitempty"` // a program that has said that it is there
	Connection  *Connection  `json:"connection,omitempty"`
}

// StreamMessage is one line of GET …/instructions/{seq}/stream: items, then the finished instruction; the body ends.
type StreamMessage struct {
	Item        *Item        `json:"item,omitempty"`
	Instruction *Instruction `json:"instruction,omitempty"`
}

// Status is the daemon's state.
type Status struct {
	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	Home      string    `json:"home"`
	Folder    string    `json:"folder,omitempty"` // the person's folder: what lies there, machines find in their inbox
	StartedAt time.Time `json:"started_at"`
	Engines   []Engine  `json:"engines"`
	InMemory  int       `json:"in_memory"`
	Running   int       `json:"running"`
	Total     int       `json:"total"`
	Memory    int64     `json:"memory_bytes"`
	DiskFree  int64     `json:"disk_free_bytes"`
	DiskUsed  int64     `json:"disk_used_bytes"`
	Warnings  []string  `json:"warnings,omitempty"`
}

// Engine says whether an engine can be used here.
type Engine struct {
	Name     string    `json:"name"`
	Default  bool      `json:"default"`
	Problems []Problem `json:"problems,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // sentences: what it had to do without
	Busy     *Progress `json:"busy,omitempty"`  // what must be done before machines can run
}

// Progress is how far something has come.
type Progress struct {
	What  string `json:"what"`
	Done  int64  `json:"done_bytes"`
	Total int64  `json:"total_bytes"`
}

// Problem is what is wrong and what to do.
type Problem struct {
	What string `json:"what"`
	Do   string `json:"do"`
}

// Error is the body of every 4xx and 5xx answer, here and on the wire (PROTOCOL: code and id; message is ours).
type Error struct {
	Code    string  `json:"code"` // CamelCase: MachineNotFound, NameTaken, Invalid, Conflict, EngineUnavailable, Unauthorized, Internal
	ID      *string `json:"id"`
	Message string  `json:"message"`
}

// Health answers GET /health.
type Health struct {
	Status  string `json:"status"` // "ok"
	Version string `json:"version"`
	Proof   string `json:"proof,omitempty"` // when asked with ?nonce=: see package proof
}

// OpenCode answers POST /api/open and is the body of POST /open: it stands in for the token in the address /#open=CODE,
// works once and only for a minute.
type OpenCode struct {
	Code string `json:"code"`
}

// OpenToken answers POST /open.
type OpenToken struct {
	Token string `json:"token"`
}

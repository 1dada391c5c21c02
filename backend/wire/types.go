// Package wire holds the types of the public ForeverVM protocol, as the JavaScript, Python and Rust
// SDKs speak it: a leaf, used by the server that answers them and by the client that speaks to a
// hosted server. The SDKs are strict about which keys are there; the rules stand with the types.
package wire

import (
	"encoding/json"
	"time"
)

// DefaultTimeoutSeconds limits an instruction's own running time when its sender says nothing.
const DefaultTimeoutSeconds = 15

// MaxMessage is the most bytes of one JSON message, on a WebSocket and on a line of NDJSON.
const MaxMessage = 8 << 20

// Headers that the SDKs send about themselves.
const (
	HeaderSDK    = "X-Forevervm-Sdk"    // javascript, python, rust
	HeaderRunner = "X-Forevervm-Runner" // npx, uvx, cargo
)

// TokenParameter carries the token of a browser's WebSocket, which cannot send headers.
const TokenParameter = "_forevervm_jwt"

// Whoami answers GET /v1/whoami.
type Whoami struct {
	Account string `json:"account"`
}

// NewMachine is the body of POST /v1/machine/new; it may be missing altogether.
type NewMachine struct {
	Tags     map[string]string `json:"tags,omitempty"`
	MemoryMB int               `json:"memory_mb,omitempty"`
}

// NewMachineResponse answers POST /v1/machine/new.
type NewMachineResponse struct {
	MachineName string `json:"machine_name"`
}

// ListMachines is the body of POST /v1/machine/list: all of these tags must match. GET has no body.
type ListMachines struct {
	Tags map[string]string `json:"tags,omitempty"`
}

// ListMachinesResponse answers both, newest first.
type ListMachinesResponse struct {
	Machines []Machine `json:"machines"`
}

// Machine is a machine as the wire shows it.
type Machine struct {
	Name      string
	CreatedAt time.Time
	Running   bool       // in memory
	ExpiresAt *time.Time // nil for never
	Tags      map[string]string
	Pending   bool // an instruction runs or waits
}

// machineJSON is Machine's shape: Rust requires has_pending_instruction, the others read
// has_pending_instructions.
type machineJSON struct {
	Name        string            `json:"name"`
	CreatedAt   time.Time         `json:"created_at"`
	Running     bool              `json:"running"`
	Pending     bool              `json:"has_pending_instruction"`
	PendingMany bool              `json:"has_pending_instructions"`
	ExpiresAt   *time.Time        `json:"expires_at"`
	Tags        map[string]string `json:"tags"`
}

// MarshalJSON writes every key, the pending one under both names, times in UTC.
func (m Machine) MarshalJSON() ([]byte, error) {
	out := machineJSON{
		Name: m.Name, CreatedAt: m.CreatedAt.UTC(), Running: m.Running,
		Pending: m.Pending, PendingMany: m.Pending, Tags: m.Tags,
	}
	if out.Tags == nil {
		out.Tags = map[string]string{}
	}
	if m.ExpiresAt != nil {
		at := m.ExpiresAt.UTC()
		out.ExpiresAt = &at
	}
	return json.Marshal(out)
}

// UnmarshalJSON takes the pending key under either name.
func (m *Machine) UnmarshalJSON(data []byte) error {
	var in machineJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*m = Machine{
		Name: in.Name, CreatedAt: in.CreatedAt, Running: in.Running, ExpiresAt: in.ExpiresAt,
		Tags: in.Tags, Pending: in.Pending || in.PendingMany,
	}
	return nil
}

// Instruction is code to run. TimeoutSeconds is nil for the default.
type Instruction struct {
	Code           string   `json:"code"`
	TimeoutSeconds *float64 `json:"timeout_seconds,omitempty"`
}

// Exec is the body of POST /v1/machine/{name}/exec.
type Exec struct {
	Instruction Instruction `json:"instruction"`
	Interrupt   bool        `json:"interrupt"`
}

// ExecResponse answers it.
type ExecResponse struct {
	InstructionSeq int    `json:"instruction_seq"`
	Interrupted    bool   `json:"interrupted"`
	Machine        string `json:"machine"`
}

// ExecResultResponse answers GET /v1/machine/{name}/exec/{seq}/result. Both numbers are the
// instruction's.
type ExecResultResponse struct {
	InstructionID  int        `json:"instruction_id"`
	InstructionSeq int        `json:"instruction_seq"`
	Result         ExecResult `json:"result"`
}

// Signup is the body of POST /internal/signup, which only the hosted service answers with success.
type Signup struct {
	Email       string `json:"email"`
	AccountName string `json:"account_name"`
}

// Error is the body of an answer that is not 200. Message is this project's addition; a hosted
// server sends none.
type Error struct {
	Code    string  `json:"code"`
	ID      *string `json:"id"`
	Message string  `json:"message,omitempty"`
}

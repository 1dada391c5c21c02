package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Types of messages. The Rust SDK stops reading at any other.
const (
	TypeConnected    = "connected"
	TypeExecReceived = "exec_received"
	TypeOutput       = "output"
	TypeResult       = "result"
	TypeError        = "error"
	TypeMessage      = "message"
	TypeExec         = "exec" // the only one from client to server
)

// FromServer is a message that the server sends: one of the types below.
type FromServer interface{ messageType() string }

// Connected is the first message on every socket.
type Connected struct {
	MachineName string `json:"machine_name"`
}

// ExecReceived answers an exec with the instruction's number, before anything else about it.
type ExecReceived struct {
	Seq       int   `json:"seq"`
	RequestID int64 `json:"request_id"`
}

// Output is one line of an instruction's output.
type Output struct {
	InstructionID int   `json:"instruction_id"`
	Chunk         Chunk `json:"chunk"`
}

// Chunk is one line without its newline. Seq counts from 0 within the instruction.
type Chunk struct {
	Stream string `json:"stream"` // stdout, stderr
	Data   string `json:"data"`
	Seq    int    `json:"seq"`
}

// Result ends an instruction; no output of it follows.
type Result struct {
	InstructionID int        `json:"instruction_id"`
	Result        ExecResult `json:"result"`
}

// SocketError says that something is wrong with the socket itself. After one the Rust SDK hangs: an
// accepted exec is answered by a Result instead.
type SocketError struct {
	Code string  `json:"code"`
	ID   *string `json:"id"`
}

// Message is a diagnostic for the person.
type Message struct {
	Message string `json:"message"`
	Level   string `json:"level"` // info, warn, error
}

func (Connected) messageType() string    { return TypeConnected }
func (ExecReceived) messageType() string { return TypeExecReceived }
func (Output) messageType() string       { return TypeOutput }
func (Result) messageType() string       { return TypeResult }
func (SocketError) messageType() string  { return TypeError }
func (Message) messageType() string      { return TypeMessage }

// Encode writes a message as one JSON object, its type first, without a newline.
func Encode(m FromServer) ([]byte, error) {
	if out, ok := m.(Output); ok && isPlain(out.Chunk.Stream) && isPlain(out.Chunk.Data) {
		return encodePlain(out), nil
	}
	fields, err := marshal(m)
	if err != nil {
		return nil, err
	}
	// Every message has fields, so that a comma is right.
	out := make([]byte, 0, len(fields)+32)
	out = append(out, `{"type":"`...)
	out = append(out, m.messageType()...)
	out = append(out, `",`...)
	return append(out, fields[1:]...), nil
}

// Decode reads a message from a server. An unknown type is an error.
func Decode(data []byte) (FromServer, error) {
	if out, ok := decodePlain(data); ok {
		return out, nil
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case TypeConnected:
		return decode[Connected](data)
	case TypeExecReceived:
		return decode[ExecReceived](data)
	case TypeOutput:
		return decode[Output](data)
	case TypeResult:
		return decode[Result](data)
	case TypeError:
		return decode[SocketError](data)
	case TypeMessage:
		return decode[Message](data)
	}
	return nil, fmt.Errorf("message of unknown type %q", head.Type)
}

func decode[T FromServer](data []byte) (FromServer, error) {
	var m T
	err := json.Unmarshal(data, &m)
	return m, err
}

// ExecMessage is what a client sends on a socket. RequestID comes back in ExecReceived.
type ExecMessage struct {
	Type        string      `json:"type"` // TypeExec
	Instruction Instruction `json:"instruction"`
	RequestID   int64       `json:"request_id"`
}

// marshal is json.Marshal without the escaping of <, > and &, which only JSON inside of HTML needs.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

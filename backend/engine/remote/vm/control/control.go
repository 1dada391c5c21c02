// Package control is what a computer and the virtual machine on it say to each other beside what
// the agent in that says: orders and reports, each a JSON object on a line of its own. A reader
// skips lines that make no sense: on a serial line, the rest of an earlier one may come first.
package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// Both ends name the two streams between them alike: by the names of serial ports, or by the
// numbers of vsock ports.
const (
	OrdersName, AgentName = "forevervm.orders", "forevervm.agent"
	OrdersPort, AgentPort = 1024, 1025
)

// The disks come in this order.
const (
	PartsDisk = iota // the programs, read-only
	ImageDisk        // the sandbox image, read-only: a file of the file system on PartsDisk
	DataDisk         // the machines
)

// Alone is the parameter of the kernel that tells after how many seconds without an order the
// virtual machine ends by itself: its computer's program has died, and nobody came in its place.
const Alone = "forevervm.alone"

// The orders.
const (
	// Tell asks how it is.
	Tell = "tell"
	// Agent asks for a new agent on the other stream. An earlier one ends first, and saves its
	// machines. Mark and a line feed are the first bytes of it there; what comes before is of an
	// earlier one.
	Agent = "agent"
	// Stop asks for the end: the agent saves its machines, the disks are synced, the power goes.
	Stop = "stop"
)

// Order is what the computer wants.
type Order struct {
	Number int    `json:"number"` // of this connection, from 1; the report has it, too
	Type   string `json:"type"`
	Now    int64  `json:"now"` // the computer's time, in nanoseconds since 1970: the guest's clock stands still while the computer sleeps
	Mark   string `json:"mark,omitempty"`
}

// Report answers an order.
type Report struct {
	Number int    `json:"number"`           // of the order; 0 for what was not asked for
	Boot   string `json:"boot,omitempty"`   // names this start; no other has the name
	Ready  bool   `json:"ready,omitempty"`  // an agent can be had
	Failed string `json:"failed,omitempty"` // why what was ordered cannot be done, or no agent can ever be had: a sentence for a person
	Ended  string `json:"ended,omitempty"`  // the mark of an agent that has ended
}

// mostLine bounds a line, in bytes.
const mostLine = 16 << 10

// Write writes an order or a report, after a line feed, which ends what an earlier end has left.
func Write(w io.Writer, what any) error {
	b, err := json.Marshal(what)
	if err == nil {
		_, err = w.Write(append(append([]byte{'\n'}, b...), '\n'))
	}
	return err
}

// Reader reads orders or reports.
type Reader[T any] struct{ lines *bufio.Reader }

// NewReader reads from a stream.
func NewReader[T any](r io.Reader) *Reader[T] { return &Reader[T]{bufio.NewReaderSize(r, mostLine)} }

// Next returns the next one that makes sense. The error is the stream's.
func (r *Reader[T]) Next() (what T, err error) {
	for {
		line, err := r.lines.ReadSlice('\n')
		whole := true
		for errors.Is(err, bufio.ErrBufferFull) {
			whole = false
			_, err = r.lines.ReadSlice('\n')
		}
		if err != nil {
			return what, err
		}
		var next T
		if whole && json.Unmarshal(line, &next) == nil {
			return next, nil
		}
	}
}

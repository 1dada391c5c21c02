// Package wsltest plays WSL on Linux, for tests. Its stand-in for wsl.exe passes on what it is
// called with, and runs on Windows or Wine, too.
package wsltest

import (
	"encoding/binary"
	"io"
)

// Address is the environment variable with the address at which a WSL plays.
const Address = "FOREVERVM_TEST_WSL"

// Call is what the stand-in says first, as a line of JSON. What it reads follows.
type Call struct {
	Args []string
	UTF8 bool // whether it was told to write that
}

// What the stand-in hears: where bytes go that follow, or its exit code.
const (
	ToOutput = iota + 1
	ToErrors
	Exit
)

// Say writes one thing for the stand-in.
func Say(w io.Writer, what byte, b []byte) error {
	frame := append([]byte{what}, binary.BigEndian.AppendUint32(nil, uint32(len(b)))...) //nolint:gosec // small
	_, err := w.Write(append(frame, b...))
	return err
}

// Hear reads what Say has written.
func Hear(r io.Reader) (what byte, b []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	b = make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, err = io.ReadFull(r, b)
	return head[0], b, err
}

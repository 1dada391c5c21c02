package server

import (
	"errors"
	"io"
	"net"
	"testing"
)

func TestCorkSendsTogetherWhatIsWrittenTogether(t *testing.T) {
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	c := &cork{Conn: near}
	reads := make(chan string)
	go func() {
		defer close(reads)
		buf := make([]byte, 1<<20)
		for {
			n, err := far.Read(buf)
			if err != nil {
				return
			}
			reads <- string(buf[:n])
		}
	}()
	write := func(s string) error { _, err := io.WriteString(c, s); return err }

	go func() { _ = write("a") }()
	if got := <-reads; got != "a" {
		t.Errorf("alone: %q", got)
	}
	go func() {
		_ = c.together(func() error { return errors.Join(write("b"), write("c"), write("d")) })
	}()
	if got := <-reads; got != "bcd" {
		t.Errorf("together: %q", got)
	}
	// Even what fails half-way has been said.
	failed := make(chan error)
	go func() {
		failed <- c.together(func() error { return errors.Join(write("e"), io.ErrUnexpectedEOF) })
	}()
	if got := <-reads; got != "e" {
		t.Errorf("failed: %q", got)
	}
	if err := <-failed; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the failure was lost: %v", err)
	}
	_ = near.Close()
	if err := write("f"); err == nil {
		t.Error("a write to a closed connection went well")
	}
	if err := c.together(func() error { return nil }); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after that: %v", err)
	}
}

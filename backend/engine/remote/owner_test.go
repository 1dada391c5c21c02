//go:build linux

package remote

import (
	"sync/atomic"
	"testing"
)

// Who wants a place for itself waits for the agents there.
func TestAlone(t *testing.T) {
	data := t.TempDir()
	if held, err := Alone(data); err != nil || held.Close() != nil {
		t.Errorf("where there was never an agent: %v", err)
	}
	agent, err := TakeOver(data, "0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	var ended atomic.Bool
	go func() {
		ended.Store(true)
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	}()
	held, err := Alone(data)
	if err != nil || !ended.Load() {
		t.Errorf("it is alone beside an agent: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}

package connect

import (
	"slices"
	"testing"
	"time"
)

func TestStartsAreHeldBackWhenDaemonsDoNotLive(t *testing.T) {
	var s starts
	now := time.Unix(1_000_000, 0)
	var waits []time.Duration
	for range 10 {
		wait := s.wait(now)
		waits = append(waits, wait/time.Second)
		now = now.Add(wait + time.Second) // it lives for a second
	}
	if want := []time.Duration{0, 0, 0, 1, 2, 4, 8, 16, 30, 30}; !slices.Equal(waits, want) {
		t.Errorf("a daemon that does not live is started again after %v seconds, want %v", waits, want)
	}
	now = now.Add(soon)
	if wait := s.wait(now); wait != 0 {
		t.Errorf("one that lived for long is started again after %v", wait)
	}
}

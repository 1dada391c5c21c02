package mcpserver

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A program may make some REPLs at once, and is told what to do where it makes too many. Others are
// not kept from it.
func TestAProgramMakesSoManyREPLsAMinute(t *testing.T) {
	var m making
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 30 {
		if why := m.refuse("loop", start.Add(time.Duration(i)*time.Second)); why != "" {
			t.Fatalf("number %d: %s", i, why)
		}
	}
	why := m.refuse("loop", start.Add(40*time.Second))
	for _, part := range []string{"has made 30 within a minute", "list-python-repls", "manage-python-repl", "in 21 seconds"} {
		if !strings.Contains(why, part) {
			t.Errorf("%q does not say %q", why, part)
		}
	}
	if why := m.refuse("another", start.Add(40*time.Second)); why != "" {
		t.Error(why)
	}
	if why := m.refuse("loop", start.Add(61*time.Second)); why != "" {
		t.Errorf("a minute after the first: %s", why)
	}
	m.refuse("another", start.Add(time.Hour))
	if len(m.all) != 1 {
		t.Errorf("it remembers %v", m.all)
	}
}

// A program that gives itself another name each time makes no more than all may together.
func TestAllProgramsMakeSoManyREPLsAMinute(t *testing.T) {
	var m making
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 120 {
		if why := m.refuse(fmt.Sprint("name ", i), start); why != "" {
			t.Fatalf("number %d: %s", i, why)
		}
	}
	why := m.refuse("another", start.Add(50*time.Second))
	if !strings.Contains(why, "all apps together have made 120 within a minute") || !strings.Contains(why, "in 11 seconds") {
		t.Error(why)
	}
	if why := m.refuse("another", start.Add(time.Minute)); why != "" {
		t.Error(why)
	}
}

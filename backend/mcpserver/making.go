package mcpserver

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// How many REPLs may be made within a minute, forks included: by one program, and by all together,
// as a program chooses its own name. A person's work needs a few, and to try alternatives side by
// side some 20 at once; a model that needs more has lost its way.
const (
	madePerMinute    = 30
	allMadePerMinute = 120
)

// making counts the REPLs that programs have made within the last minute.
type making struct {
	mu  sync.Mutex
	all map[string][]time.Time // by the program's name, oldest first
}

// refuse counts one more of a program's, or says why it may not be made.
func (m *making) refuse(by string, now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, first := 0, now // of everybody's
	for name, times := range m.all {
		times = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
		if m.all[name] = times; len(times) == 0 {
			delete(m.all, name)
			continue
		}
		all += len(times)
		if times[0].Before(first) {
			first = times[0]
		}
	}
	made := m.all[by]
	who, number := "this app has", len(made)
	switch {
	case len(made) >= madePerMinute:
		first = made[0]
	case all >= allMadePerMinute:
		who, number = "all apps together have", all
	default:
		who = ""
	}
	if who != "" {
		wait := first.Add(time.Minute).Sub(now)
		return fmt.Sprintf("No REPL was made: %s made %d within a minute, and may make no more. Reuse one that exists: list-python-repls lists them, and one REPL can do many tasks. Move those to the bin that you made and do not need (manage-python-repl, action delete). A new one can be made in %d seconds.", who, number, int(wait.Seconds())+1)
	}
	if m.all == nil {
		m.all = map[string][]time.Time{}
	}
	m.all[by] = append(made, now)
	return ""
}

package mcpserver

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// madePerMinute is how many REPLs one program may make within a minute, forks included. A person's work needs a few, and trying alternatives side by side
// some 20 at once; a model that needs more has lost its way.
const madePerMinute = 30

// making counts the REPLs that programs have made within the last minute.
type making struct {
	mu  sync.Mutex
	all map[string][]time.Time // by the program's name, oldest first
}

// refuse counts one more of a program's, or says why it may not be made.
func (m *making) refuse(by string, now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, times := range m.all {
		times = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
		if m.all[name] = times; len(times) == 0 {
			delete(m.all, name)
		}
	}
	made := m.all[by]
	if len(made) >= madePerMinute {
		wait := made[0].Add(time.Minute).Sub(now)
		return fmt.Sprintf("No REPL was made: this app has made %d within a minute, and may make no more. Reuse one that there is: list-python-repls lists them, and one REPL can do many tasks. Move those to the bin that you made and do not need (delete-python-repl). A new one can be made in %d seconds.", len(made), int(wait.Seconds())+1)
	}
	if m.all == nil {
		m.all = map[string][]time.Time{}
	}
	m.all[by] = append(made, now)
	return ""
}

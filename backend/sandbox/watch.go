//go:build linux

package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	// watchRunning and watchIdle are how often memory is looked at.
	watchRunning = 200 * time.Millisecond
	watchIdle    = time.Second
	// allowance is how much memory a sandbox may take beyond the machine's own limit and the
	// template: gVisor's own needs, and what is used later than it was asked for, or never asked
	// for, such as what is written to /dev/shm.
	allowance = 512 << 20
	// floor is how much memory the computer must have available, in bytes.
	floor = 192 << 20
	// rescuePatience bounds the checkpoint made when the computer's memory runs short; after it the
	// sandbox is killed.
	rescuePatience = 20 * time.Second
)

// watch stops the machine, saved, before it takes more memory than it may or the computer runs out
// of it.
func (s *supervisor) watch(ctx context.Context) {
	for w := (watchdog{}); ; {
		interval := watchIdle
		if _, running := s.runner.state(); running != nil {
			interval = watchRunning
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return
		case <-s.sandboxEnded:
			return
		}
		total, available := HostMemory()
		if why, ownLimit := w.look(s.measure().memory, s.most(), total, available); why != "" {
			s.rescue(why, ownLimit)
			return
		}
	}
}

// watchdog decides when a machine must go.
type watchdog struct {
	short int // how often in a row the computer had too little memory
}

// look is called again and again with what the machine uses and may use at most (0 for any), and
// what the computer has and has available (-1 where that cannot be told), in bytes. It says why the
// machine must go, empty when it may stay, and whether that is for its own limit.
func (w *watchdog) look(used, most, total, available int64) (why string, ownLimit bool) {
	if most > 0 && used > most {
		return fmt.Sprintf("The machine took %d MiB of memory, more than the %d MiB that it may.", used>>20, most>>20), true
	}
	if available < 0 || available > floor {
		w.short = 0
		return "", false
	}
	// Every machine sees the shortage at once. The larger one is, the sooner it goes, and the
	// others stay.
	if w.short++; float64(w.short) > 10*(1-float64(used)/float64(max(total, 1))) {
		return "The computer was running out of memory.", false
	}
	return "", false
}

// most is how much memory the sandbox may take in all; 0 for any.
func (s *supervisor) most() int64 {
	limit := s.memoryLimit()
	if limit == 0 {
		return 0
	}
	return limit + limit/4 + s.baseline + allowance
}

// rescue saves the machine, if there is time, and ends it. Where the computer has memory left,
// there is as much time as for any other save: a machine that is being saved stands still.
func (s *supervisor) rescue(why string, ownLimit bool) {
	e := ending{cause: protocol.CauseMemory, detail: why, ownLimit: ownLimit}
	patience := rescuePatience
	if ownLimit {
		patience = savePatience
	}
	if m, err := s.stopWithin(patience); err != nil {
		e.detail += " It was stopped and could not be saved: " + err.Error()
	} else {
		e.checkpoint = &m
	}
	s.finish(e)
}

// shortOfMemory says whether what just failed may have failed because memory was short.
func shortOfMemory() bool {
	_, available := HostMemory()
	return killedForMemory() || available >= 0 && available <= floor
}

// HostMemory reads the computer's memory in bytes; available is -1 when it cannot be told.
func HostMemory() (total, available int64) {
	available = -1
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, -1
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "MemTotal:":
			total = n << 10
		case "MemAvailable:":
			available = n << 10
		}
	}
	return total, available
}

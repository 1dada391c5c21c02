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
	// allowance is how much memory a sandbox may take beyond the machine's own limit and the template: gVisor's own
	// needs, /dev/shm, and what several processes take together, each within the limit.
	allowance = 512 << 20
	// floor is how much memory the computer must have available, in bytes.
	floor = 192 << 20
	// rescuePatience bounds the checkpoint made when memory runs short; after it the sandbox is killed.
	rescuePatience = 20 * time.Second
)

// watch stops the machine, saved, before it takes more memory than it may or the computer runs out of it.
func (s *supervisor) watch(ctx context.Context) {
	for short := 0; ; {
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
		used := measure(s.runsc.pid).memory
		if most := s.most(); most > 0 && used > most {
			s.rescue(fmt.Sprintf("The machine took %d MiB of memory, more than the %d MiB that it may.", used>>20, most>>20), true)
			return
		}
		total, available := hostMemory()
		if available < 0 || available > floor {
			short = 0
			continue
		}
		// Every machine sees the shortage at once. The larger one is, the sooner it goes, and the others stay.
		if short++; float64(short) > 10*(1-float64(used)/float64(max(total, 1))) {
			s.rescue("The computer was running out of memory.", false)
			return
		}
	}
}

// most is how much memory the sandbox may take in all; 0 for any.
func (s *supervisor) most() int64 {
	limit := s.memoryLimit()
	if limit == 0 {
		return 0
	}
	return limit + limit/4 + s.baseline + allowance
}

// rescue saves the machine, if there is time, and ends it.
func (s *supervisor) rescue(why string, ownLimit bool) {
	e := ending{cause: protocol.CauseMemory, detail: why, ownLimit: ownLimit}
	if m, err := s.stopWithin(rescuePatience); err != nil {
		e.detail += " It was stopped and could not be saved: " + err.Error()
	} else {
		e.checkpoint = &m
	}
	s.finish(e)
}

// hostMemory reads the computer's memory in bytes; available is -1 when it cannot be told.
func hostMemory() (total, available int64) {
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

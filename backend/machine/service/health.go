package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/reserve"
)

// health is what is known of the computer and of our own use of it. It is measured now and then, so
// that asking is cheap.
type health struct {
	mu        sync.Mutex // guards what follows
	diskFree  int64      // -1 when not known
	diskUsed  int64
	usedAt    time.Time // when diskUsed was measured last
	engines   []machine.EngineStatus
	standard  string                        // the engine of new machines
	news      map[string]machine.EngineNews // by the engine's name
	diskFull  time.Time                     // when a write last failed for want of room
	low       bool
	memoryLow bool
	checking  sync.Mutex
	held      bool // the room of checkpoints that are gone cannot be given back
}

// usedEvery is how often the room that the data takes is measured: that reads all its folders.
const usedEvery = 15 * time.Second

// failed notes a failure that people should be told about.
func (h *health) failed(err error) {
	if errors.Is(err, machine.ErrDiskFull) {
		h.mu.Lock()
		h.diskFull = time.Now()
		h.mu.Unlock()
	}
}

// collected notes whether the room of checkpoints that are gone could be given back, and says
// whether that is news.
func (h *health) collected(ok bool) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	news = h.held == ok
	h.held = !ok
	return news
}

func (h *health) diskLow() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.low
}

// roomForOutput is how many bytes an overflow file may have now: 0 while the disk is nearly full.
func (s *Service) roomForOutput() int64 {
	if s.health.diskLow() {
		return 0
	}
	return s.set.Load().Output.File
}

// unsaved is what a caller must know while nothing is saved for want of room; "" where there is
// enough.
func (h *health) unsaved() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.low && time.Since(h.diskFull) >= time.Minute {
		return ""
	}
	return "The disk is nearly full, so this machine is not saved while it works. What it did since its last checkpoint is lost if it fails. " + machine.FreeSpace
}

// Status returns the state of the whole; it asks no one and reads no disk.
func (s *Service) Status(context.Context) machine.Status {
	st := machine.Status{StartedAt: s.started}
	for _, e := range s.entries() {
		m := e.Machine()
		if m.State == machine.Deleted {
			continue
		}
		st.Total++
		if m.State.InMemory() {
			st.InMemory++
		}
		if m.State == machine.Running {
			st.Running++
		}
		if m.Memory != nil && !s.isAway(m.Engine) {
			st.Memory += m.Memory.MemoryBytes
		}
	}
	n := s.own.queue.Waiting()
	var full []string // of places whose memory machines wait for
	for _, m := range s.placeMemories() {
		if n := m.queue.Waiting(); n > 0 {
			full = append(full, fmt.Sprintf("The memory at %s is full: %d machines wait to come into it. They start automatically when there is room. Put machines there to sleep to make some.", m.place, n))
		}
	}
	slices.Sort(full)
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	st.DiskFree, st.DiskUsed, st.Engines = h.diskFree, h.diskUsed, slices.Clone(h.engines)
	for i := range st.Engines {
		st.Engines[i].EngineNews = h.news[st.Engines[i].Name]
	}
	switch {
	case time.Since(h.diskFull) < time.Minute:
		st.Warnings = append(st.Warnings, "The disk is full. Machines go on running and nothing is lost, but new steps and checkpoints have to wait. "+machine.FreeSpace)
	case h.low:
		st.Warnings = append(st.Warnings, fmt.Sprintf("Only %d MB are free on the disk, so no machines and checkpoints are made. %s", h.diskFree>>20, machine.FreeSpace))
	}
	if s.warnings != nil {
		st.Warnings = append(st.Warnings, s.warnings()...)
	}
	if h.held {
		st.Warnings = append(st.Warnings, "Checkpoints that are gone go on taking room on the disk, as the files of others cannot be read. Machines go on, and none is deleted for want of room meanwhile. To mend that, run: forevervm checkpoints repair")
	}
	st.Warnings = append(st.Warnings, full...)
	if n > 0 {
		st.Warnings = append(st.Warnings, fmt.Sprintf("The computer is short of memory: %d machines wait to come into it, because at least %d MB are left free. They start automatically when there is room. Put machines to sleep or close other programs to make some.", n, s.own.floor()>>20))
	} else if h.memoryLow {
		st.Warnings = append(st.Warnings, "The computer is short of memory. Idle machines are moved to the disk. They come back automatically when they are used.")
	}
	return st
}

// lookAtDisk notes how much room there is.
func (s *Service) lookAtDisk() {
	free := s.free()
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	h.diskFree, h.low = free, free >= 0 && free < s.set.Load().MinFreeDisk
}

// measure brings the figures up to date and tells when a warning comes or goes.
func (s *Service) measure() {
	before := s.Status(s.ctx).Warnings
	if s.free() >= max(2*reserve.Bytes, s.set.Load().MinFreeDisk) {
		if err := s.reserve.Fill(); err != nil {
			s.log.Warn("no room is held back for deleting on a full disk", "err", err)
		}
	}
	s.measureUsed()
	s.lookAtDisk()
	if st := s.Status(s.ctx); !slices.Equal(before, st.Warnings) {
		s.hub.Publish(machine.Event{Type: machine.EventStatus, Status: &st})
	}
}

// measureUsed brings up to date how much room the data takes.
func (s *Service) measureUsed() {
	h := &s.health
	h.mu.Lock()
	due := s.usedDisk != nil && time.Since(h.usedAt) > usedEvery
	if due {
		h.usedAt = time.Now()
	}
	h.mu.Unlock()
	if !due {
		return
	}
	used, err := s.usedDisk()
	if err != nil {
		s.log.Warn("the use of the disk is not known", "err", err)
		return
	}
	h.mu.Lock()
	h.diskUsed = used
	h.mu.Unlock()
}

// StartEngine starts what an engine needs, where that is installed and does not run, looks whether
// the engine works now, and tells.
func (s *Service) StartEngine(ctx context.Context, name string) (machine.EngineStatus, error) {
	engine, err := s.namedEngine(name)
	if err != nil {
		return machine.EngineStatus{}, err
	}
	if starter, ok := engine.(machine.Starter); ok {
		if err := starter.StartUp(ctx); err != nil {
			s.CheckEngines() // new machines are made elsewhere, then
			return machine.EngineStatus{}, err
		}
	}
	if place, ok := s.away(name); ok {
		s.askPlace(ctx, place)
	}
	s.CheckEngines()
	for _, e := range s.Status(ctx).Engines {
		if e.Name == name {
			return e, nil
		}
	}
	return machine.EngineStatus{}, machine.Conflict("This place has just been removed.")
}

// ailing says whether the engine of new machines does not work.
func (s *Service) ailing() bool {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return slices.ContainsFunc(s.health.engines, func(e machine.EngineStatus) bool { return e.Default && len(e.Problems) > 0 })
}

// hear notes what an engine tells of itself, and passes it on.
func (s *Service) hear(engine string, news machine.EngineNews) {
	s.health.mu.Lock()
	if s.health.news == nil {
		s.health.news = map[string]machine.EngineNews{}
	}
	s.health.news[engine] = news
	s.health.mu.Unlock()
	s.spawn(func() { // anyone who tells must not wait for us
		st := s.Status(s.ctx)
		s.hub.Publish(machine.Event{Type: machine.EventStatus, Status: &st})
	})
}

// standardEngine is the engine of new machines.
func (s *Service) standardEngine() string {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.standard
}

// CheckEngines asks every engine whether it works here, and chooses that of new machines.
func (s *Service) CheckEngines() {
	s.health.checking.Lock()
	defer s.health.checking.Unlock()
	var all []machine.EngineStatus
	for name, problems := range s.problemsOf(s.ctx) {
		all = append(all, machine.EngineStatus{Name: name, Problems: problems})
	}
	standard := s.defaultEngine
	works := func(name string) bool {
		return slices.ContainsFunc(all, func(e machine.EngineStatus) bool { return e.Name == name && len(e.Problems) == 0 })
	}
	for _, name := range slices.Sorted(maps.Keys(s.engines)) {
		if !works(standard) && works(name) {
			standard = name
		}
	}
	for i := range all {
		all[i].Default = all[i].Name == standard
	}
	slices.SortFunc(all, func(a, b machine.EngineStatus) int {
		if a.Default != b.Default {
			if a.Default {
				return -1
			}
			return 1
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	s.health.mu.Lock()
	same := slices.EqualFunc(all, s.health.engines, func(a, b machine.EngineStatus) bool {
		return a.Name == b.Name && a.Default == b.Default && slices.Equal(a.Problems, b.Problems)
	})
	s.health.engines, s.health.standard = all, standard
	s.health.mu.Unlock()
	if !same {
		st := s.Status(s.ctx)
		s.hub.Publish(machine.Event{Type: machine.EventStatus, Status: &st})
	}
}

package service_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// script is an engine and its checkpoints; its machines do what their code says, for what the real
// one cannot be made to do at will: failing starts, full disks, deaths at chosen moments, and time
// that is not real. It keeps the rules of backend/runner/PROTOCOL.md: frames are numbered, kept
// until acknowledged, and sent again after a restore. Its machines are lists of instructions:
//
//	print TEXT    output, then the value None
//	flood N       N lines; slow N the same, a millisecond apart
//	blob N        N times 100 KiB of output; figure N: a display of N bytes
//	bytes TEXT    output, byte by byte
//	list          the value is the list of what has taken effect
//	hang          runs until it is interrupted
//	reluctant     runs until it is interrupted for the fourth time; stubborn until its sandbox is ended
//	handle        runs until it is interrupted, and gets to its end then
//	wait          runs until release is called
//	die           ends the sandbox
//	background    prints once it is over
type script struct {
	specs map[machine.ID]machine.StartSpec // the last ones; guarded by mu

	mu          sync.Mutex
	checkpoints map[string]memory
	n           int
	boxes       map[machine.ID]*box // the latest of each machine
	all         []*box
	starts      int
	startErr    error
	startHangs  bool // until its caller gives up
	deaf        bool // instructions get lost on their way
	ending      bool // sandboxes take no instructions any more, as they are about to end
	saveErr     error
	size        int64 // of checkpoints, where it is more than 1000 bytes
	reclaimErr  error
	startTakes  time.Duration
	saveTakes   time.Duration // the machine stands still meanwhile
	carryTakes  time.Duration // after that, until what was saved can be used
	slowToSave  map[machine.ID]time.Duration
	writeTakes  time.Duration
	handTakes   time.Duration // the way to the machine of what it is to do or to leave
	queued      []int         // what machines claim to have in their queues
	limitTakes  time.Duration
	limiting    chan struct{}         // closed when a limit is being set; nil for nobody to know
	sluggish    bool                  // instructions are taken, and do not begin
	forged      int                   // what checkpoints say their last instruction is, when not 0
	owner       map[string]machine.ID // of checkpoints
	copied      []machine.ID          // to whom a checkpoint was, or was to be, copied
	copyErr     error
	copyTakes   time.Duration
	purged      []machine.ID
	keepErr     error
	keepTakes   time.Duration // where nobody awaits it
	settleTakes time.Duration // where somebody does
	mute        bool          // machines do not answer what their variables are
	sealed      []string      // checkpoints
	shrunk      []string      // checkpoints
	room        int64         // that those take, which were deleted and not collected included
	collected   int           // how often
	collectErr  error
	showErr     error
	unshared    machine.Unshared // why shared folders are not seen
}

// memory is what is in a machine.
type memory struct {
	done    []string // what has taken effect
	last    int
	running *job
	waiting *job // given and not begun
	unacked []machine.Frame
	at      time.Time // when it was saved
	life    string    // that it was saved in
	size    int64     // of the checkpoint
}

type job struct {
	seq   int
	code  string
	index int // of its next frame
}

func newScript() *script {
	return &script{checkpoints: map[string]memory{}, boxes: map[machine.ID]*box{}, owner: map[string]machine.ID{}, specs: map[machine.ID]machine.StartSpec{}}
}

func (s *script) Name() string { return "script" }

func (s *script) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	s.mu.Lock()
	hangs, takes := s.startHangs, s.startTakes
	s.mu.Unlock()
	if err := stand(ctx, takes); err != nil {
		return nil, err
	}
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++
	s.specs[spec.ID] = spec
	if s.startErr != nil {
		return nil, s.startErr
	}
	m := memory{last: -1}
	if spec.Checkpoint != "" {
		var ok bool
		if m, ok = s.checkpoints[spec.Checkpoint]; !ok {
			return nil, &machine.Error{Kind: machine.ErrCheckpointUnusable, Message: "the checkpoint " + spec.Checkpoint + " is missing"}
		}
	}
	b := &box{
		s: s, id: spec.ID, mem: m.copy(), frames: make(chan machine.Frame, 64), ended: make(chan struct{}),
		todo: make(chan job, 16), signal: make(chan string, 16), in: make(chan machine.Frame),
	}
	b.mem.life = spec.Life
	b.ready = machine.Ready{Python: "3.13", LastSeq: m.last}
	if spec.Shared != nil {
		b.ready.Unshared = s.unshared
	}
	for _, a := range spec.Acked {
		b.forget(a.Seq, a.Index)
	}
	if m.running != nil {
		seq := m.running.seq
		b.ready.Running = &seq
	}
	b.ready.Queued = s.queued
	if m.waiting != nil {
		b.ready.Queued = []int{m.waiting.seq}
	}
	b.limit = spec.MemoryMB
	s.boxes[spec.ID] = b
	s.all = append(s.all, b)
	again := slices.Clone(b.mem.unacked)
	var wg sync.WaitGroup
	wg.Go(func() { b.deliver(again) })
	wg.Go(b.run)
	go func() { // ends with the box
		wg.Wait()
		close(b.frames)
		close(b.ended)
	}()
	return b, nil
}

// stand lets time pass.
func stand(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m memory) copy() memory {
	m.done, m.unacked = slices.Clone(m.done), slices.Clone(m.unacked)
	if m.running != nil {
		j := *m.running
		m.running = &j
	}
	if m.waiting != nil {
		j := *m.waiting
		m.waiting = &j
	}
	return m
}

func (s *script) Reclaim(_ context.Context, _ machine.ID, life string, known []string) (*machine.CheckpointInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reclaimErr != nil {
		return nil, s.reclaimErr
	}
	newest := ""
	for c, m := range s.checkpoints {
		if m.life == life {
			newest = max(newest, c)
		}
	}
	for c, m := range s.checkpoints {
		if m.life == life && c != newest && !slices.Contains(known, c) {
			delete(s.checkpoints, c)
		}
	}
	if newest == "" || slices.Contains(known, newest) {
		return nil, nil
	}
	info := s.checkpoints[newest].info(newest)
	return &info, nil
}

func (s *script) Copy(ctx context.Context, from machine.ID, checkpoint string, to machine.ID) (machine.CheckpointInfo, error) {
	s.mu.Lock()
	takes := s.copyTakes
	s.copied = append(s.copied, to)
	s.mu.Unlock()
	if err := stand(ctx, takes); err != nil {
		return machine.CheckpointInfo{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copyErr != nil {
		return machine.CheckpointInfo{}, s.copyErr
	}
	m, ok := s.checkpoints[checkpoint]
	if !ok {
		return machine.CheckpointInfo{}, fmt.Errorf("no checkpoint %s", checkpoint)
	}
	m.life = ""
	return s.put(to, m), nil
}

// put keeps a checkpoint. mu is held.
func (s *script) put(owner machine.ID, m memory) machine.CheckpointInfo {
	s.n++
	id := fmt.Sprintf("c%06d", s.n)
	m = m.copy()
	m.at, m.size = time.Now(), s.size
	s.checkpoints[id], s.owner[id] = m, owner
	return m.info(id)
}

func (m memory) info(id string) machine.CheckpointInfo {
	info := machine.CheckpointInfo{ID: id, CreatedAt: m.at, LastSeq: m.last, Size: max(m.size, 1000)}
	info.Whole = info.Size
	if m.running != nil {
		seq := m.running.seq
		info.RunningSeq = &seq
	} else if m.waiting != nil {
		seq := m.waiting.seq
		info.RunningSeq = &seq
	}
	return info
}

func (s *script) Persist(ctx context.Context, _ machine.ID, checkpoint string, awaited bool) error {
	s.mu.Lock()
	takes := s.keepTakes
	if awaited {
		takes = s.settleTakes
	}
	s.mu.Unlock()
	if err := stand(ctx, takes); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.checkpoints[checkpoint]; !ok {
		return fmt.Errorf("no checkpoint %s", checkpoint)
	}
	return s.keepErr
}

func (s *script) Seal(_ context.Context, _ machine.ID, checkpoint string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = append(s.sealed, checkpoint)
	return nil
}

func (s *script) Compact(_ context.Context, _ machine.ID, checkpoint string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.checkpoints[checkpoint]; !ok {
		return 0, fmt.Errorf("no checkpoint %s", checkpoint)
	}
	s.shrunk = append(s.shrunk, checkpoint)
	s.room++
	return 1, nil
}

// allShrunk lists those that were shrunk, in order.
func (s *script) allShrunk() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shrunk)
}

// allSealed lists those that were sealed, in order.
func (s *script) allSealed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sealed)
}

// collections is how often what nobody needs was collected.
func (s *script) collections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collected
}

// Used is how many bytes those take that were shrunk and were not collected.
func (s *script) Used() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room, nil
}

func (s *script) Collect(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collected++
	if s.collectErr != nil {
		return s.collectErr
	}
	s.room = 0
	for _, c := range s.shrunk {
		if _, ok := s.checkpoints[c]; ok {
			s.room++
		}
	}
	return nil
}

func (s *script) Delete(_ context.Context, _ machine.ID, checkpoint string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.checkpoints, checkpoint)
	return nil
}

func (s *script) Purge(_ context.Context, id machine.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purged = append(s.purged, id)
	return nil
}

func (s *script) Check(context.Context) []machine.Problem { return nil }
func (s *script) Close() error                            { return nil }

// box returns the machine's sandbox, which is in memory.
func (s *script) box(id machine.ID) *box {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boxes[id]
}

// orphan lets the supervisor save and end a machine whose daemon has died.
func (s *script) orphan(id machine.ID) {
	b := s.box(id)
	if _, err := b.Stop(context.Background()); err != nil {
		panic(err)
	}
}

// endAll ends every sandbox that is left.
func (s *script) endAll() {
	s.mu.Lock()
	all := s.all
	s.mu.Unlock()
	for _, b := range all {
		go func() { // what nobody reads any more
			for range b.frames {
			}
		}()
		b.crash()
	}
}

// count returns how many checkpoints there are.
func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.checkpoints)
}

func (s *script) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

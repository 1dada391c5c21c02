// Package service owns every machine: it brings machines into memory, gives them instructions,
// saves them and keeps their history. What it needs of the world stands in the ports of package
// machine.
package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/events"
	"github.com/forevervm/desktop/backend/machine/gate"
	"github.com/forevervm/desktop/backend/machine/life"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/machine/output"
	"github.com/forevervm/desktop/backend/machine/permission"
	"github.com/forevervm/desktop/backend/machine/reserve"
)

// Settings are the service's policies; zero fields mean the default.
type Settings struct {
	IdleSwap            time.Duration         // an idle machine leaves memory after this; default 10 minutes
	CheckpointAfterIdle time.Duration         // a changed machine is saved once idle for this long; default 100 ms
	CheckpointEvery     time.Duration         // at most one automatic checkpoint in this time; 0: after each piece of work; negative: only when it leaves memory
	MostUnsaved         time.Duration         // finished work is saved after this, even where more follows at once; default 5 s
	MostUnsavedWithin   time.Duration         // a running instruction is saved each time that it has run for this; default a minute
	KeepAll             time.Duration         // every automatic checkpoint is kept for this long; default 24 hours; negative: only the latest is
	KeepHourly          time.Duration         // and then one an hour, up to this age; default 7 days
	KeepDaily           time.Duration         // and then one a day, up to this age; default 90 days
	CheckpointBudget    int64                 // bytes of all shrunk checkpoints; beyond it the oldest automatic ones go; default 10 GB or a tenth of the room that there is
	BinRetention        time.Duration         // a machine stays in the bin for this long; default 7 days
	InterruptGrace      time.Duration         // code that ignores interrupts is ended after this; default 5 s
	MaxInMemory         int64                 // bytes of all sandboxes; beyond it idle machines leave memory; 0 for no such limit
	MinFreeShare        int                   // percent of the computer's memory to leave free; default 15, needs Config.FreeMemory and Config.TotalMemory
	MinFreeMemory       int64                 // bytes of it to leave free in place of that share; 0 for the share
	MinFreeDisk         int64                 // bytes; below it a warning is given and overflow files stop growing; default 1 GiB
	Network             machine.NetworkPolicy // of machines that have none of their own; default public
	Output              output.Limits         // default 1 MiB head and tail, 32 MiB of displays, 1,000 items, 256 MiB file
}

func (s Settings) withDefaults() Settings {
	s.IdleSwap = cmp.Or(s.IdleSwap, 10*time.Minute)
	s.CheckpointAfterIdle = cmp.Or(s.CheckpointAfterIdle, 100*time.Millisecond)
	s.MostUnsaved = cmp.Or(s.MostUnsaved, mostUnsaved)
	s.MostUnsavedWithin = cmp.Or(s.MostUnsavedWithin, mostUnsavedWithin)
	s.KeepAll = cmp.Or(s.KeepAll, 24*time.Hour)
	s.KeepHourly = cmp.Or(s.KeepHourly, 7*24*time.Hour)
	s.KeepDaily = cmp.Or(s.KeepDaily, 90*24*time.Hour)
	s.BinRetention = cmp.Or(s.BinRetention, 7*24*time.Hour)
	s.InterruptGrace = cmp.Or(s.InterruptGrace, 5*time.Second)
	s.MinFreeShare = cmp.Or(s.MinFreeShare, minFreeShare)
	s.MinFreeDisk = cmp.Or(s.MinFreeDisk, 1<<30)
	s.Network.Mode = cmp.Or(s.Network.Mode, machine.NetworkPublic)
	o := &s.Output
	o.Head = cmp.Or(o.Head, 1<<20)
	o.Tail = cmp.Or(o.Tail, 1<<20)
	o.Displays = cmp.Or(o.Displays, 32<<20)
	o.Items = cmp.Or(o.Items, 1000)
	o.File = cmp.Or(o.File, 256<<20)
	return s
}

// Settings returns the policies that hold.
func (s *Service) Settings() Settings { return *s.set.Load() }

// SetSettings changes the policies; zero fields mean the default. They hold at once: what is
// planned for machines that are idle now is planned again.
func (s *Service) SetSettings(settings Settings) {
	settings = settings.withDefaults()
	s.set.Store(&settings)
	for _, e := range s.entries() {
		o := e.lock()
		switch {
		case o.sess == nil:
		case o.life.State == machine.Idle && o.run == nil:
			o.sess.rest(o)
		case o.life.State == machine.Running:
			o.sess.plan(o)
		}
		o.unlock()
	}
	s.poke()
}

// Config is what a Service is made of. Time comes from package time; tests inject theirs with
// testing/synctest.
type Config struct {
	Engines map[string]machine.Engine // by name; the service does not close them
	// DefaultEngine is that of new machines while it works, or while none does. Otherwise it is
	// another that works.
	DefaultEngine string
	Checkpoints   machine.Checkpoints // of the machines of all engines
	Places        []machine.Engine    // elsewhere; see AddPlace
	// Near is the one of them that is on this computer's disk all the same; "" for none.
	Near      string
	Store     machine.Store // the service does not close it
	Settings  Settings
	OutputDir string       // where overflow files lie; the service makes and owns it
	Logger    *slog.Logger // nil for none
	// FreeMemory tells how many bytes the computer could still give without swapping; nil where
	// that is not known.
	FreeMemory func() (int64, error)
	// TotalMemory is how many bytes the computer has; 0 where that is not known.
	TotalMemory int64
	// FreeDisk tells how many bytes are free where the data lies; nil where that is not known.
	FreeDisk func() (int64, error)
	// UsedDisk tells how many bytes our data takes there; nil where that is not known.
	UsedDisk func() (int64, error)
	// Warnings are more of what the status tells people, as sentences; nil for none. It asks no one
	// and reads no disk.
	Warnings func() []string
	// Network carries the machines' connections; nil for none: machines have no network then. The
	// service does not close it.
	Network machine.Network
	// Approve keeps a host that a person has approved of for all machines in the settings; nil
	// where that cannot be kept.
	Approve func(host string) error
	// Exchange carries files between the person's folder and machines; nil for none.
	Exchange machine.Exchange
	// Shareable says in a sentence why a folder may not be shared with machines, even to be
	// written to, and else what it is called without links; nil where none may be.
	Shareable func(path string, writable bool) (string, error)
	// ShareWatch watches shared folders that code may change; nil for none.
	ShareWatch machine.ShareWatch
}

// Service is the domain: it owns every machine. It implements server.Machines, where its methods
// are described. All methods may be called from any goroutine.
type Service struct {
	places
	defaultEngine string
	store         machine.Store
	set           atomic.Pointer[Settings]
	kept          output.Kept
	log           *slog.Logger
	own           *memory
	totalMemory   int64
	freeDisk      func() (int64, error)
	usedDisk      func() (int64, error)
	warnings      func() []string
	network       machine.Network
	approve       func(host string) error
	connections   atomic.Int64 // the ID of the last one
	exchange      machine.Exchange
	shareable     func(path string, writable bool) (string, error)
	shareWatch    machine.ShareWatch
	started       time.Time

	hub            *events.Hub
	permissions    *permission.Requests
	health         health
	reserve        *reserve.File
	collectingAway atomic.Bool // somebody collects at places elsewhere
	starts         *gate.Gate  // bounds how many machines come into memory at once
	saves          *gate.Gate  // bounds how many are saved at once that nobody asked to save: many fall idle together, and who works meanwhile needs processors, too
	farStarts      *gate.Gate  // starts at places elsewhere: a slow one holds up nobody here
	farSaves       *gate.Gate  // saves there, in the same way
	looks          *gate.Gate  // bounds how many comparisons bring states into memory at once

	unscrubbed  atomic.Bool // something that was removed may still be in the store's files
	uncollected atomic.Bool // something that was removed may still take room among the checkpoints
	collecting  sync.Mutex  // held while that is given back
	collects    atomic.Bool // the last time, it could be
	unrelieved  atomic.Bool // checkpoints were forgotten for want of room, and none has been given back since

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	group  sync.WaitGroup // every goroutine of the service
	nudge  chan struct{}  // wakes the keeper

	garbage      sync.Mutex // held while garbage is taken out
	making       sync.Map   // IDs of forks that are being made, which are not garbage yet
	deletingAway sync.Map   // engines elsewhere where something is being deleted
	naming       sync.Mutex // held while names are decided, longer than mu

	mu       sync.Mutex // guards what follows
	closing  bool       // nothing new is taken on
	closed   bool       // nothing new is started
	machines map[machine.ID]*entry
	names    map[string]machine.ID // present and old names
}

// New brings the service up on what the store holds. It returns at once; machines whose last daemon
// died, or which have work waiting, are taken up in the background.
func New(ctx context.Context, cfg Config) (*Service, error) {
	if _, ok := cfg.Engines[cfg.DefaultEngine]; !ok && !slices.ContainsFunc(cfg.Places, func(p machine.Engine) bool { return p.Name() == cfg.DefaultEngine }) {
		return nil, fmt.Errorf("the default engine %q is not among the engines", cfg.DefaultEngine)
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		places: places{engines: cfg.Engines, checkpoints: cfg.Checkpoints, near: cfg.Near, elsewhere: map[string]machine.Engine{}, memories: map[string]*memory{}, answers: map[string][]machine.Problem{}, asking: map[string]bool{}}, defaultEngine: cfg.DefaultEngine, store: cfg.Store,
		kept: output.Kept{Rows: cfg.Store, Dir: cfg.OutputDir, Log: log}, log: log, totalMemory: cfg.TotalMemory, freeDisk: cfg.FreeDisk, usedDisk: cfg.UsedDisk, warnings: cfg.Warnings,
		network: cfg.Network, approve: cfg.Approve, exchange: cfg.Exchange, shareable: cfg.Shareable,
		shareWatch: cfg.ShareWatch,
		started:    time.Now().UTC(), hub: events.New(), starts: gate.New(max(2, runtime.NumCPU())), saves: gate.New(max(1, runtime.NumCPU()/2)), farStarts: gate.New(farAtOnce), farSaves: gate.New(farAtOnce),
		looks: gate.New(1), nudge: make(chan struct{}, 1), machines: map[machine.ID]*entry{}, names: map[string]machine.ID{},
	}
	s.uncollected.Store(true)                  // a daemon that was killed may have left what nobody needs
	s.connections.Store(s.started.UnixMicro()) // so that they count up over all runs of the daemon
	settings := cfg.Settings.withDefaults()
	s.set.Store(&settings)
	s.permissions = permission.New(func(p machine.Permission) {
		s.hub.Publish(machine.Event{Type: machine.EventPermission, Permission: &p})
	})
	s.reserve = reserve.New(filepath.Join(cfg.OutputDir, "reserve"))
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.own = s.ownMemory(cfg.FreeMemory, cfg.TotalMemory)
	s.unscrubbed.Store(true) // the last daemon may have died over it
	if err := s.load(ctx); err != nil {
		s.cancel()
		return nil, err
	}
	s.lookAtDisk() // so that the first who asks is told what is so
	for _, place := range cfg.Places {
		s.putPlace(place)
	}
	s.CheckEngines()
	for _, engine := range s.engines {
		s.listenTo(engine)
	}
	for _, place := range cfg.Places {
		s.listenTo(place)
	}
	s.resume() // before anybody else can hold a machine
	s.spawn(s.keep)
	s.spawn(s.takeOutGarbage)
	return s, nil
}

// load reads every machine and its unfinished instructions.
func (s *Service) load(ctx context.Context) error {
	records, err := s.store.Machines(ctx)
	if err != nil {
		return fmt.Errorf("read the machines: %w", err)
	}
	for _, rec := range records {
		e := newEntry(s, rec)
		s.machines[rec.ID] = e
		s.names[rec.Name] = rec.ID
		for _, alias := range rec.Aliases {
			s.names[alias] = rec.ID
		}
	}
	unfinished, err := s.store.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("read the queues: %w", err)
	}
	for _, in := range unfinished {
		of := &s.machines[in.Machine].guarded
		if of.rec.DeletedAt != nil { // what waited ended when it went to the bin
			continue
		}
		if in.Status == machine.StatusRunning && of.run == nil {
			if in, err = s.store.Instruction(ctx, in.Machine, in.Seq); err != nil { // with its code
				return fmt.Errorf("read a running instruction: %w", err)
			}
			of.run, of.life = &in, life.New(in.Seq, of.life.Queue...)
		} else {
			of.life = life.New(of.life.Run, append(of.life.Queue, in.Seq)...)
		}
	}
	for _, e := range s.machines {
		of := &e.guarded
		of.life.Paused = of.rec.Paused && of.life.Run != life.None
	}
	return nil
}

// Close saves every machine in memory, several at a time, and ends. What is not saved when ctx ends
// is left to the supervisors, which save their machines themselves once this process is gone.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	err := s.eachInMemory(ctx, func(ctx context.Context, e *entry) error {
		return e.stopNow(ctx)
	})
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	for _, e := range s.entries() {
		o := e.lock()
		o.later.stop()
		o.later = nil
		o.unlock()
	}
	s.group.Wait()
	s.hub.Close()
	return err
}

// CheckpointAll saves every machine in memory that has changed, and leaves them there: for when the
// computer goes to sleep.
func (s *Service) CheckpointAll(ctx context.Context) error {
	return s.eachInMemory(ctx, func(ctx context.Context, e *entry) error {
		return e.saveIfChanged(ctx)
	})
}

// spawn starts a goroutine that Close waits for; it must end soon after s.ctx does. Once the
// service has ended, nothing starts.
func (s *Service) spawn(f func()) {
	if s.enter() {
		go func() {
			defer s.group.Done()
			f()
		}()
	}
}

func (s *Service) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.group.Add(1)
	return true
}

// alarm is something to happen later. Close waits for it, so anyone who sets one stops it; a nil
// one is stopped.
type alarm struct {
	timer *time.Timer
	s     *Service
}

func (s *Service) after(d time.Duration, f func()) *alarm {
	if !s.enter() {
		return nil
	}
	return &alarm{s: s, timer: time.AfterFunc(d, func() {
		defer s.group.Done()
		f()
	})}
}

func (a *alarm) stop() {
	if a != nil && a.timer.Stop() {
		a.s.group.Done()
	}
}

func (s *Service) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// poke makes the keeper look again at once.
func (s *Service) poke() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// find returns the machine of a present or old name.
func (s *Service) find(name string) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.machines[s.names[name]]
	if !ok {
		return nil, machine.NoMachine(name)
	}
	return e, nil
}

// entries returns every machine, in no order.
func (s *Service) entries() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*entry, 0, len(s.machines))
	for _, e := range s.machines {
		all = append(all, e)
	}
	return all
}

func (s *Service) engineOf(name string) (machine.Engine, error) {
	engine := s.engine(name)
	if engine == nil {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("The engine %q is not available on this computer.", naming.Clip(name, 40))}
	}
	return engine, nil
}

// namedEngine is the engine that a request names: one that there is not is no fault of ours.
func (s *Service) namedEngine(name string) (machine.Engine, error) {
	engine := s.engine(name)
	if engine == nil {
		return nil, machine.Invalid("There is no engine %q on this computer; choose one of %s.", naming.Clip(name, 40), strings.Join(s.engineNames(), ", "))
	}
	return engine, nil
}

// savesAtOnce bounds how many machines are saved at the same time where somebody waits for all:
// more would only compete for the disk.
const savesAtOnce = 4

// eachInMemory does something with every machine in memory, a few at a time, and returns the first
// error.
func (s *Service) eachInMemory(ctx context.Context, do func(context.Context, *entry) error) error {
	slots := make(chan struct{}, savesAtOnce)
	var wg sync.WaitGroup
	var once sync.Once
	var first error
	fail := func(err error) { once.Do(func() { first = err }) }
	for _, e := range s.entries() {
		if !e.inMemory() {
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			fail(err)
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, e); err != nil {
				s.log.Warn("a machine could not be saved", "machine", e.id, "err", err)
				fail(err)
			}
		})
	}
	wg.Wait()
	return first
}

// Announce tells subscribers of something that happened to a machine that is not this service's
// own. It never blocks.
func (s *Service) Announce(ev machine.Event) { s.hub.Publish(ev) }

// Find returns the machine of a present or old name, in the bin or not.
func (s *Service) Find(_ context.Context, name string) (machine.Handle, error) {
	e, err := s.find(name)
	if err != nil {
		return nil, err
	}
	return e, nil
}

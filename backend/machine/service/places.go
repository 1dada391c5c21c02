package service

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/gate"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// places are where machines can be: the engines of this computer, which have one store of
// checkpoints in common, and places elsewhere, which may come and go. A place that is a
// machine.Place has a store of its own. What others save lies on this computer, too.
type places struct {
	engines     map[string]machine.Engine
	checkpoints machine.Checkpoints
	near        string // see Config.Near

	mu        sync.Mutex
	elsewhere map[string]machine.Engine
	memories  map[string]*memory           // of those
	answers   map[string][]machine.Problem // what each of those said last
	asking    map[string]bool              // those that are being asked
}

const (
	// checkPatience bounds how long a place elsewhere may take to say whether it works.
	checkPatience = 15 * time.Second
	// farAtOnce is how many machines come into memory at places elsewhere at once, and are saved.
	farAtOnce = 4
)

func (p *places) away(name string) (machine.Engine, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place, ok := p.elsewhere[name]
	return place, ok
}

// isAway says whether an engine is elsewhere, where the memory of its machines is.
func (p *places) isAway(name string) bool {
	_, away := p.away(name)
	return away
}

// isNear says whether an engine is on this computer, whose memory it takes.
func (p *places) isNear(name string) bool { return name == p.near || !p.isAway(name) }

// ownStore is an engine's own store of checkpoints, elsewhere; ok is false where it saves on this
// computer.
func (p *places) ownStore(name string) (store machine.Checkpoints, ok bool) {
	engine, _ := p.away(name)
	store, ok = engine.(machine.Checkpoints)
	return store, ok
}

// onThisDisk says whether what an engine saves takes room on this computer's disk.
func (p *places) onThisDisk(name string) bool {
	_, own := p.ownStore(name)
	return name == p.near || !own
}

// engine finds an engine by its name; nil for none.
func (p *places) engine(name string) machine.Engine {
	if engine, ok := p.engines[name]; ok {
		return engine
	}
	if place, ok := p.away(name); ok {
		return place
	}
	return nil
}

// engineNames are those of all engines, in order.
func (p *places) engineNames() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Collect(maps.Keys(p.engines))
	return slices.Sorted(slices.Values(slices.AppendSeq(all, maps.Keys(p.elsewhere))))
}

// saved is the store of the checkpoints that an engine makes.
func (p *places) saved(engine string) machine.Checkpoints {
	if own, ok := p.ownStore(engine); ok {
		return own
	}
	return p.checkpoints // also of an engine that is gone: engineOf tells that
}

// memoryOf is where the machines of an engine are when they are awake.
func (s *Service) memoryOf(engine string) *memory {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	if m, ok := s.memories[engine]; ok {
		return m
	}
	return s.own
}

// placeMemories are those of places elsewhere.
func (s *Service) placeMemories() []*memory {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	return slices.Collect(maps.Values(s.memories))
}

// startsAt bounds how many machines of an engine come into memory at once.
func (s *Service) startsAt(engine string) *gate.Gate {
	if s.isNear(engine) {
		return s.starts
	}
	return s.farStarts
}

// copyState gives machine `to` its own copy of a checkpoint, also at another place.
func (s *Service) copyState(ctx context.Context, from machine.ID, engine, checkpoint string, to *machine.MachineRecord) (machine.CheckpointInfo, error) {
	here, there := s.saved(engine), s.saved(to.Engine)
	if here == there {
		return here.Copy(ctx, from, checkpoint, to.ID)
	}
	open, err := here.Export(ctx, from, checkpoint)
	if err != nil {
		return machine.CheckpointInfo{}, err
	}
	defer open.Close()
	target, err := s.engineOf(to.Engine)
	if err == nil {
		err = target.CheckCompatible(ctx, to.Image, open.State.Needs)
	}
	if size := open.State.Size(); err == nil && there == s.checkpoints && size > s.roomFor() {
		err = &machine.Error{Kind: machine.ErrDiskFull, Message: fmt.Sprintf("The machine takes %d MB, which this computer's disk has no room for. %s", size>>20, machine.FreeSpace)}
	}
	if err != nil {
		return machine.CheckpointInfo{}, err
	}
	var last io.Closer
	defer func() {
		if last != nil {
			last.Close()
		}
	}()
	return there.Import(ctx, to.ID, open.State, func(f machine.StateFile) (io.Reader, error) {
		if last != nil {
			last.Close()
		}
		content, err := open.Open(f.Name)
		if err != nil {
			return nil, err
		}
		last = content
		return content, nil
	})
}

// AddPlace lets machines be at another place from now on, which is asked whether it works: a
// machine.Place where they are saved there, too. The service does not close it.
func (s *Service) AddPlace(place machine.Engine) error {
	s.mu.Lock()
	if s.engine(place.Name()) != nil {
		s.mu.Unlock()
		return machine.Conflict("There is a place called %q already.", naming.Clip(place.Name(), 80))
	}
	s.putPlace(place)
	s.mu.Unlock()
	s.listenTo(place)
	s.CheckEngines()
	return nil
}

func (s *Service) putPlace(place machine.Engine) {
	s.places.mu.Lock()
	s.elsewhere[place.Name()] = place
	s.memories[place.Name()] = s.placeMemory(place)
	s.places.mu.Unlock()
}

// listenTo hears what an engine tells of itself. s.mu is free.
func (s *Service) listenTo(engine machine.Engine) {
	if teller, ok := engine.(machine.Notifier); ok {
		teller.Notify(func(news machine.EngineNews) { s.hear(engine.Name(), news) })
	}
}

// RemovePlace forgets a place elsewhere that has no machines any more, not even in the bin, and
// what was still to be deleted there.
func (s *Service) RemovePlace(ctx context.Context, name string) error {
	if !s.isAway(name) {
		return &machine.Error{Kind: machine.ErrNotFound, Message: fmt.Sprintf("There is no place called %q.", naming.Clip(name, 80))}
	}
	done, err := s.alone(ctx, name) // else a machine might just arrive
	if err != nil {
		return err
	}
	defer done()
	var there []string
	for _, e := range s.entries() {
		if e.engine() == name {
			m := e.Machine()
			if m.Title != "" {
				m.Name = fmt.Sprintf("%s (%s)", m.Title, m.Name)
			}
			there = append(there, m.Name)
		}
	}
	if len(there) > 0 {
		return machine.Conflict("There are machines at %s: %s. Delete them for good first, or move them to this computer.", name, naming.Clip(strings.Join(there, ", "), 300))
	}
	list, err := s.store.Garbage(ctx)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(g machine.Garbage) bool { return g.Engine != name })
	for _, g := range list {
		if _, making := s.making.Load(g.Machine); making {
			return machine.Conflict("A machine is just being made at %s. Wait until it is there.", name)
		}
	}
	if _, own := s.ownStore(name); !own { // it lies here, where nobody else would delete it
		for _, g := range list {
			if err := s.takeOut(g); err != nil {
				return err
			}
		}
		list = nil
	}
	err = s.writeSyncDeleting(ctx, func(w machine.Writer) error {
		for _, g := range list {
			if err := w.RemoveGarbage(g); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.places.mu.Lock()
	delete(s.elsewhere, name)
	delete(s.memories, name)
	delete(s.answers, name)
	s.places.mu.Unlock()
	s.CheckEngines()
	return nil
}

// collectAway gives back room at places elsewhere. One that cannot be reached now does so another
// time.
func (s *Service) collectAway() {
	if !s.collectingAway.CompareAndSwap(false, true) {
		return
	}
	defer s.collectingAway.Store(false)
	for _, name := range s.engineNames() {
		if store, ok := s.ownStore(name); ok {
			if err := store.Collect(s.ctx); err != nil && s.ctx.Err() == nil {
				s.log.Info("a place gives room back later", "place", name, "err", err)
			}
		}
	}
}

// problemsOf is what is wrong with each engine. Places elsewhere are asked meanwhile, and count as
// they answered last: one may be far away, and nobody waits for that. One that rests answers at
// once.
func (s *Service) problemsOf(ctx context.Context) map[string][]machine.Problem {
	found := map[string][]machine.Problem{}
	for name, engine := range s.engines {
		found[name] = engine.Check(ctx)
	}
	var unasked []machine.Engine
	s.places.mu.Lock()
	elsewhere := maps.Clone(s.elsewhere)
	s.places.mu.Unlock()
	for name, place := range elsewhere {
		if rests(place) {
			found[name] = place.Check(ctx)
		}
	}
	s.places.mu.Lock()
	for name, place := range s.elsewhere {
		if problems, ok := found[name]; ok {
			s.answers[name] = problems
			continue
		}
		answer, ok := s.answers[name]
		if !ok {
			answer = []machine.Problem{{What: "This place has not answered yet.", Do: "Wait a moment."}}
		}
		found[name] = answer
		if !s.asking[name] {
			s.asking[name] = true
			unasked = append(unasked, place)
		}
	}
	s.places.mu.Unlock()
	for _, place := range unasked {
		s.spawn(func() {
			if s.askPlace(s.ctx, place) {
				s.CheckEngines()
			}
		})
	}
	return found
}

// rests says whether a place only runs while it is needed, and does not now.
func rests(place machine.Engine) bool {
	rester, ok := place.(machine.Rester)
	return ok && rester.Resting()
}

// askPlace asks a place what is wrong with it, and says whether that is news.
func (s *Service) askPlace(ctx context.Context, place machine.Engine) (news bool) {
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	problems := place.Check(ctx)
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	before, known := s.answers[place.Name()]
	s.answers[place.Name()] = problems
	delete(s.asking, place.Name())
	return !known || !slices.Equal(before, problems)
}

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
	"github.com/forevervm/desktop/backend/machine/naming"
)

// places are where machines can be: the engines of this computer, which have one store of
// checkpoints in common, and places elsewhere, which may come and go.
type places struct {
	engines     map[string]machine.Engine
	checkpoints machine.Checkpoints

	mu        sync.Mutex
	elsewhere map[string]machine.Place
}

// checkPatience bounds how long a place elsewhere may take to say whether it works.
const checkPatience = 15 * time.Second

func (p *places) away(name string) (machine.Place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place, ok := p.elsewhere[name]
	return place, ok
}

// isAway says whether the machines of an engine take no memory and no disk of this computer.
func (p *places) isAway(name string) bool {
	_, away := p.away(name)
	return away
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
	if place, ok := p.away(engine); ok {
		return place
	}
	return p.checkpoints
}

// copyState gives machine `to` its own copy of a checkpoint, also at another place.
func (p *places) copyState(ctx context.Context, from machine.ID, engine, checkpoint string, to *machine.MachineRecord) (machine.CheckpointInfo, error) {
	here, there := p.saved(engine), p.saved(to.Engine)
	if here == there {
		return here.Copy(ctx, from, checkpoint, to.ID)
	}
	open, err := here.Export(ctx, from, checkpoint)
	if err != nil {
		return machine.CheckpointInfo{}, err
	}
	defer open.Close()
	if target := p.engine(to.Engine); target != nil {
		if err := target.CheckCompatible(ctx, to.Image, open.State.Needs); err != nil {
			return machine.CheckpointInfo{}, err
		}
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

// AddPlace lets machines be at another place from now on, which is asked whether it works. The
// service does not close it.
func (s *Service) AddPlace(place machine.Place) error {
	s.mu.Lock()
	if s.engine(place.Name()) != nil {
		s.mu.Unlock()
		return machine.Conflict("There is a place called %q already.", naming.Clip(place.Name(), 80))
	}
	s.putPlace(place)
	s.mu.Unlock()
	s.checkEngines()
	return nil
}

func (s *Service) putPlace(place machine.Place) {
	s.places.mu.Lock()
	s.elsewhere[place.Name()] = place
	s.places.mu.Unlock()
	if teller, ok := place.(machine.Notifier); ok {
		teller.Notify(func(news machine.EngineNews) { s.hear(place.Name(), news) })
	}
}

// RemovePlace forgets a place elsewhere that has no machines any more, not even in the bin.
func (s *Service) RemovePlace(name string) error {
	if !s.isAway(name) {
		return &machine.Error{Kind: machine.ErrNotFound, Message: fmt.Sprintf("There is no place %q.", naming.Clip(name, 80))}
	}
	var there []string
	for _, e := range s.entries() {
		if e.engine == name {
			there = append(there, e.Machine().Name)
		}
	}
	if len(there) > 0 {
		return machine.Conflict("There are machines at %s: %s. Delete them for good first, or copy them to this computer.", name, naming.Clip(strings.Join(there, ", "), 300))
	}
	s.places.mu.Lock()
	delete(s.elsewhere, name)
	s.places.mu.Unlock()
	s.checkEngines()
	return nil
}

// collectAway gives back room at places elsewhere. One that cannot be reached now does so another
// time.
func (s *Service) collectAway() {
	for _, name := range s.engineNames() {
		if place, ok := s.away(name); ok {
			if err := place.Collect(s.ctx); err != nil && s.ctx.Err() == nil {
				s.log.Info("a place gives room back later", "place", name, "err", err)
			}
		}
	}
}

// problemsOf asks all engines at once what is wrong with them. Places elsewhere may be far away:
// one that does not answer soon is told as that.
func (s *Service) problemsOf(ctx context.Context) map[string][]machine.Problem {
	s.places.mu.Lock()
	elsewhere := maps.Clone(s.elsewhere)
	s.places.mu.Unlock()
	found := map[string][]machine.Problem{}
	var mu sync.Mutex
	var asked sync.WaitGroup
	for name, place := range elsewhere {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, checkPatience)
			defer cancel()
			problems := place.Check(ctx)
			mu.Lock()
			defer mu.Unlock()
			found[name] = problems
		})
	}
	for name, engine := range s.engines {
		problems := engine.Check(ctx)
		mu.Lock()
		found[name] = problems
		mu.Unlock()
	}
	asked.Wait()
	return found
}

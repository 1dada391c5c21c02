package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/engine/kubernetes"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/remote/ssh"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/machine/service"
)

// isElsewhere says whether the engine of that name has its saved states at a place of its own.
func isElsewhere(engine string) bool {
	return engine == inVM || engine == inWSL || isFar(engine)
}

// isFar says whether those states lie on no disk of this computer.
func isFar(engine string) bool {
	return strings.HasPrefix(engine, overSSH+":") || strings.HasPrefix(engine, kubernetes.HostKind+":")
}

// places are those elsewhere that the person has added. Their file holds addresses and nothing
// secret: ssh has the rest.
type places struct {
	file       string
	parts      string // folder of what a place is made of
	owner      string // see remote.Config
	supervisor string // the program, for clusters
	agent      string // the program, for hosts in clusters
	store      *local.Store
	log        *slog.Logger

	machines *service.Service // set once it is there

	changing sync.Mutex // held while a place is added or removed
	mu       sync.Mutex // of the file and the map
	known    map[string]place
}

// placesFile is what the file holds.
type placesFile struct {
	Owner  string      `json:"owner"` // made up once: two computers may have the same paths
	Places []api.Place `json:"places"`
}

// place is one of them.
type place interface {
	machine.Engine
	machine.Starter
	// about is what is told of it, and kept.
	about() api.Place
	// look finds out what is there, and whether machines can run there. It changes nothing.
	look(ctx context.Context) (api.PlaceFacts, error)
	// begin says that setUp is about to be called: until then nobody can use the place.
	begin()
	// setUp puts there what is missing, and runs a first machine.
	setUp(ctx context.Context) error
	// leave removes what was put there.
	leave(ctx context.Context) error
}

// openPlaces reads which places there are. It opens no connection.
func openPlaces(dirs home.Dirs, parts string, store *local.Store, log *slog.Logger) (*places, error) {
	p := &places{
		file: dirs.PlacesFile(), parts: parts, supervisor: filepath.Join(parts, "supervisor"), agent: filepath.Join(parts, "agent"), store: store, log: log, known: map[string]place{},
	}
	var kept placesFile
	content, err := os.ReadFile(p.file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		owner := make([]byte, 16)
		if _, err := rand.Read(owner); err != nil {
			return nil, err
		}
		kept.Owner = hex.EncodeToString(owner) // kept with the first place
	case err != nil:
		return nil, fmt.Errorf("read the places: %w", err)
	default:
		if err := json.Unmarshal(content, &kept); err != nil {
			return nil, fmt.Errorf("the file %s cannot be read: %w. Remove it, and add the places again", p.file, err)
		}
	}
	p.owner = kept.Owner
	for _, one := range kept.Places {
		opened, err := p.open(api.NewPlace{Kind: one.Kind, Address: one.Address, Cluster: one.Cluster})
		if err != nil {
			log.Warn("a place is left out", "name", one.Name, "err", err)
			continue
		}
		p.known[opened.Name()] = opened
	}
	return p, nil
}

// open makes the engine of a place. It opens no connection.
func (p *places) open(q api.NewPlace) (place, error) {
	switch q.Kind {
	case overSSH:
		host, err := ssh.Parse(q.Address)
		if err != nil {
			return nil, err
		}
		return p.openSSH(host), nil
	case kubernetes.Kind:
		var where api.Cluster
		if q.Cluster != nil {
			where = *q.Cluster
		}
		return p.openCluster(q.Address, where)
	}
	return nil, machine.Invalid("There is no kind of place called %q. Say %s or %s.", q.Kind, overSSH, kubernetes.Kind)
}

// all are the places, for the service.
func (p *places) all() (all []machine.Engine) {
	for _, one := range p.known {
		all = append(all, one)
	}
	return all
}

// close lets go of all places, at once.
func (p *places) close() error {
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.known))
	p.mu.Unlock()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, one := range all {
		closing.Go(func() { errs[i] = one.Close() })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// keep writes the file, with one place more or less.
func (p *places) keep(name string, one place) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one == nil {
		delete(p.known, name)
	} else {
		p.known[name] = one
	}
	return p.write()
}

// keepOwner writes the file where there is none: what lies in a cluster has the owner's name.
func (p *places) keepOwner() error {
	if _, err := os.Stat(p.file); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return p.write()
}

// write writes the file. mu is held, or nobody else is there yet.
func (p *places) write() error {
	content, err := json.MarshalIndent(placesFile{p.owner, p.list()}, "", "  ")
	if err != nil {
		return err
	}
	return home.WritePrivate(p.file, append(content, '\n'))
}

func (p *places) list() []api.Place {
	list := []api.Place{}
	for _, one := range p.known {
		list = append(list, one.about())
	}
	slices.SortFunc(list, func(a, b api.Place) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// List is server.Places'.
func (p *places) List() []api.Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list()
}

// Look is server.Places'.
func (p *places) Look(ctx context.Context, q api.NewPlace) (api.PlaceFacts, error) {
	one, err := p.open(q)
	if err != nil {
		return api.PlaceFacts{}, err
	}
	facts, err := one.look(ctx)
	return facts, errors.Join(err, one.Close())
}

// Add is server.Places'. A place that is there already gets the programs of this version, and a
// cluster the settings that are given.
func (p *places) Add(ctx context.Context, q api.NewPlace) (api.Place, error) {
	one, err := p.open(q)
	if err != nil {
		return api.Place{}, err
	}
	if _, err := one.look(ctx); err != nil {
		return api.Place{}, errors.Join(err, one.Close())
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	name := one.Name()
	p.mu.Lock()
	known := p.known[name]
	p.mu.Unlock()
	again := known != nil
	var was kubernetes.Cluster
	if again {
		if before, ok := known.(inCluster); ok {
			was = before.Where()
		}
		if err := errors.Join(adopt(known, one), one.Close()); err != nil {
			return api.Place{}, err
		}
		one = known
	} else {
		one.begin()
		if err := p.machines.AddPlace(one); err != nil {
			return api.Place{}, errors.Join(err, one.Close())
		}
	}
	err = one.setUp(ctx)
	if back, ok := one.(inCluster); ok && err != nil && again {
		err = errors.Join(err, back.Move(was))
	}
	if err != nil && !again {
		if p.machines.RemovePlace(context.WithoutCancel(ctx), name) == nil {
			err = errors.Join(err, one.Close())
			if host, ok := one.(*hostPlace); ok { // else its volume would stay, unknown to anybody
				err = errors.Join(err, host.leave(context.WithoutCancel(ctx)))
			}
			return api.Place{}, err
		}
		// Somebody has made a machine there meanwhile, so it stays.
	}
	if !again || err == nil {
		err = errors.Join(err, p.keep(name, one))
	}
	if err == nil {
		_, err = p.machines.StartEngine(ctx, name) // which looks whether it works now
	}
	return one.about(), err
}

// adopt gives a cluster that is known the settings that were given now.
func adopt(known, given place) error {
	was, ok := known.(inCluster)
	now, also := given.(inCluster)
	if !ok || !also {
		return nil
	}
	return was.Move(now.Where())
}

// runFirst finds out whether a place can run machines.
func runFirst(ctx context.Context, place interface {
	machine.Engine
	machine.Starter
}) error {
	if err := place.StartUp(ctx); err != nil {
		return err
	}
	if err := mended(place.Check(ctx)); err != nil {
		return err
	}
	id := machine.NewID()
	box, err := place.Start(ctx, machine.StartSpec{ID: id, Name: "first", Image: "base", MemoryMB: machine.DefaultMemoryMB, Life: rand.Text()})
	if err != nil {
		return err
	}
	go func() {
		for range box.Frames() { // it has nothing to say
		}
	}()
	box.Kill()
	select {
	case <-box.Ended():
	case <-ctx.Done():
		return ctx.Err()
	}
	return place.Purge(ctx, id)
}

// mended is an error where there are problems.
func mended(problems []machine.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &machine.Error{Kind: machine.ErrUnavailable, Message: naming.Join(problems[0].What, problems[0].Do)}
}

// Remove is server.Places'. A place that cannot be reached is forgotten all the same.
func (p *places) Remove(ctx context.Context, name string) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	p.mu.Lock()
	one := p.known[name]
	p.mu.Unlock()
	if one == nil {
		return &machine.Error{Kind: machine.ErrNotFound, Message: fmt.Sprintf("There is no place called %q.", naming.Clip(name, 80))}
	}
	if err := p.machines.RemovePlace(ctx, name); err != nil {
		return err
	}
	if err := errors.Join(p.keep(name, nil), one.Close()); err != nil {
		return err
	}
	return one.leave(ctx)
}

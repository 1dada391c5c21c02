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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/ssh"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/machine/service"
)

// overSSH is the kind of places that are reached by ssh, and the beginning of their engines' names.
const overSSH = "ssh"

// tellEvery is how often it is told how far something has come.
const tellEvery = 100 * time.Millisecond

// isElsewhere says whether the engine of that name has its saved states at a place of its own.
func isElsewhere(engine string) bool {
	return engine == inVM || engine == inWSL || strings.HasPrefix(engine, overSSH+":")
}

// places are those elsewhere that the person has added. Their file holds addresses and nothing
// secret: ssh has the rest.
type places struct {
	file  string
	parts string // folder of what a place is made of
	owner string // see remote.Config
	log   *slog.Logger

	machines *service.Service // set once it is there

	changing sync.Mutex // held while a place is added or removed
	mu       sync.Mutex // of the file and the map
	known    map[string]*place
}

// placesFile is what the file holds.
type placesFile struct {
	Owner  string      `json:"owner"` // made up once: two computers may have the same paths
	Places []api.Place `json:"places"`
}

// place is one of them, as an engine that tells what is done with it.
type place struct {
	*remote.Place
	news // that it is being set up
	host ssh.Host
}

// Start brings a machine into memory there, once the place is set up.
func (p *place) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	if p.isBusy() {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: "The place of this machine is being set up. Try again when that is done."}
	}
	return p.Place.Start(ctx, spec)
}

// Check says what is wrong with the place.
func (p *place) Check(ctx context.Context) []machine.Problem {
	if p.isBusy() {
		return []machine.Problem{{What: "This place is being set up.", Do: "Wait until it is done."}}
	}
	return p.Place.Check(ctx)
}

// openPlaces reads which places there are. It opens no connection.
func openPlaces(dirs home.Dirs, parts string, log *slog.Logger) (*places, error) {
	p := &places{file: dirs.PlacesFile(), parts: parts, log: log, known: map[string]*place{}}
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
		host, err := ssh.Parse(one.Address)
		if err != nil || one.Kind != overSSH {
			log.Warn("a place is left out", "name", one.Name, "err", err)
			continue
		}
		p.known[one.Name] = p.open(host)
	}
	return p, nil
}

func (p *places) open(host ssh.Host) *place {
	name := overSSH + ":" + string(host)
	return &place{host: host, Place: remote.New(remote.Config{Name: name, Owner: p.owner, Dialer: host.Dialer(p.log.With("place", name))})}
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
func (p *places) keep(name string, one *place) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one == nil {
		delete(p.known, name)
	} else {
		p.known[name] = one
	}
	content, err := json.MarshalIndent(placesFile{p.owner, p.list()}, "", "  ")
	if err != nil {
		return err
	}
	return home.WritePrivate(p.file, append(content, '\n'))
}

func (p *places) list() []api.Place {
	list := []api.Place{}
	for name, one := range p.known {
		list = append(list, api.Place{Name: name, Kind: overSSH, Address: string(one.host)})
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

// look finds out what is at a host, and whether machines can run there.
func (p *places) look(ctx context.Context, address string) (ssh.Host, *ssh.Parts, api.PlaceFacts, error) {
	host, err := ssh.Parse(address)
	if err != nil {
		return "", nil, api.PlaceFacts{}, err
	}
	parts, err := ssh.OwnParts(p.parts)
	if err != nil {
		return "", nil, api.PlaceFacts{}, err
	}
	found, err := host.Look(ctx)
	if err == nil {
		err = host.Fits(found, parts)
	}
	if err != nil {
		return "", nil, api.PlaceFacts{}, err
	}
	return host, parts, api.PlaceFacts{
		System: found.System, Processor: found.Processor, Folder: found.Home + "/" + ssh.Folder, FreeBytes: max(0, found.Free),
		SizeBytes: parts.Size, Installed: found.Installed == parts.Digest,
	}, nil
}

// Look is server.Places'.
func (p *places) Look(ctx context.Context, address string) (api.PlaceFacts, error) {
	_, _, facts, err := p.look(ctx, address)
	return facts, err
}

// Add is server.Places'. A place that is there already gets the programs of this version.
func (p *places) Add(ctx context.Context, address string) (api.Place, error) {
	host, parts, facts, err := p.look(ctx, address)
	if err != nil {
		return api.Place{}, err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	name := overSSH + ":" + string(host)
	added := api.Place{Name: name, Kind: overSSH, Address: string(host)}
	p.mu.Lock()
	one := p.known[name]
	p.mu.Unlock()
	again := one != nil
	if !again {
		one = p.open(host)
		one.tell(&machine.Preparation{What: "Preparing " + string(host)}) // no agent is there yet
		if err := p.machines.AddPlace(one); err != nil {
			return api.Place{}, err
		}
	}
	err = p.setUp(ctx, one, parts, facts.Installed)
	if err != nil && !again {
		if p.machines.RemovePlace(context.WithoutCancel(ctx), name) == nil {
			return api.Place{}, errors.Join(err, one.Close())
		}
		// Somebody has made a machine there meanwhile, so it stays.
	}
	if !again {
		err = errors.Join(err, p.keep(name, one))
	}
	if err == nil {
		_, err = p.machines.StartEngine(ctx, name) // which looks whether it works now
	}
	return added, err
}

// setUp puts the programs there, and runs a first machine.
func (p *places) setUp(ctx context.Context, one *place, parts *ssh.Parts, installed bool) error {
	defer one.tell(nil)
	if !installed {
		what := "Copying ForeverVM to " + string(one.host)
		one.tell(&machine.Preparation{What: what, Total: parts.Size})
		told := time.Now()
		one.Reset() // an agent must not find new programs beside it; machines there are saved
		err := one.host.Install(ctx, parts, func(sent int64) {
			if time.Since(told) > tellEvery {
				told = time.Now()
				one.tell(&machine.Preparation{What: what, Done: sent, Total: parts.Size})
			}
		})
		if err != nil {
			return err
		}
	}
	one.tell(&machine.Preparation{What: "Starting a first machine at " + string(one.host)})
	return runFirst(ctx, one.Place)
}

// runFirst finds out whether a place can run machines.
func runFirst(ctx context.Context, place *remote.Place) error {
	if err := place.StartUp(ctx); err != nil {
		return err
	}
	if problems := place.Check(ctx); len(problems) > 0 {
		return &machine.Error{Kind: machine.ErrUnavailable, Message: naming.Join(problems[0].What, problems[0].Do)}
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
	if err := one.host.Leave(ctx, p.owner); err != nil {
		return &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: "The place is forgotten. The folder " + ssh.Folder + " stays there, as it could not be removed: " + err.Error(), Cause: err,
		}
	}
	return nil
}

package hosted

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/credentials"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

const (
	refreshEvery = 10 * time.Second
	refreshLeast = time.Second     // between two, however often the list is asked for
	refreshMost  = 2 * time.Minute // while the service does not answer
	maxMachines  = 10_000
	maxName      = 200
)

// session is being signed in with one account.
type session struct {
	m       *Machines
	account credentials.Account
	secret  credentials.Secret
	wire    client.Wire
	records Records
	sending string // the folder of notes of what is being sent

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	group  sync.WaitGroup
	nudge  chan struct{} // has the list refreshed
	// settling is held for reading while something is written that somebody was told already; see
	// settled.
	settling sync.RWMutex

	mu       sync.Mutex // guards what follows
	machines map[string]*remote
	problem  string // why the service could not be asked last; a sentence
}

func (m *Machines) newSession(account credentials.Account, secret credentials.Secret) (*session, error) {
	sum := sha256.Sum256([]byte(account.Server + "\n" + account.Name))
	name := hex.EncodeToString(sum[:8])
	s := &session{
		m: m, account: account, secret: secret, wire: m.client(account.Server, secret).Wire(),
		sending: filepath.Join(m.config.Folder, name+".sending"), nudge: make(chan struct{}, 1), machines: map[string]*remote{},
	}
	if err := os.MkdirAll(s.sending, 0o700); err != nil {
		return nil, fmt.Errorf("where the history of hosted machines is kept cannot be made: %w", err)
	}
	s.ctx, s.cancel = context.WithCancel(m.ctx)
	var err error
	if s.records, err = m.config.Open(s.ctx, filepath.Join(m.config.Folder, name+".db")); err != nil {
		s.cancel()
		return nil, err
	}
	if err := s.load(); err != nil {
		s.cancel()
		return nil, errors.Join(err, s.records.Close())
	}
	return s, nil
}

// load reads what is known of this account's machines.
func (s *session) load() error {
	known, err := s.records.Machines(s.ctx)
	if err != nil {
		return fmt.Errorf("read the hosted machines: %w", err)
	}
	byID := map[machine.ID]*remote{}
	for _, rec := range known {
		r := newRemote(s, rec)
		s.machines[rec.Name], byID[rec.ID] = r, r
	}
	unfinished, err := s.records.Unfinished(s.ctx)
	if err != nil {
		return fmt.Errorf("read what runs on hosted machines: %w", err)
	}
	for _, in := range unfinished {
		if r := byID[in.Machine]; r != nil {
			r.open = append(r.open, in.Seq)
		}
	}
	return nil
}

// begin takes up what is not over, and keeps the list.
func (s *session) begin() {
	s.forgetSent()
	for _, r := range s.remotes() {
		r.publish()
		for _, seq := range r.unfinished() {
			s.spawn(func() { r.resume(seq) })
		}
	}
	s.spawn(s.keepList)
}

func (s *session) close() error {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.group.Wait()
	return s.records.Close()
}

// settled waits until what anybody was told is on record.
func (s *session) settled() {
	s.settling.Lock()
	defer s.settling.Unlock()
}

// spawn starts a goroutine that close waits for; it must end soon after s.ctx does. In a session
// that has ended, nothing starts.
func (s *session) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.group.Go(f)
	}
}

func (s *session) remotes() []*remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.machines))
}

// named is the machine of that name, here or at the service; nil for none.
func (s *session) named(name string) *remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.machines[name]; r != nil && !r.isGone() {
		return r
	}
	return nil
}

func (s *session) trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

func (s *session) setTrouble(sentence string) {
	s.mu.Lock()
	changed := s.problem != sentence
	s.problem = sentence
	s.mu.Unlock()
	if changed {
		if sentence != "" {
			s.m.config.Logger.Warn("the hosted service cannot be used", "why", sentence)
		}
		s.m.announceStatus()
	}
}

// poke has the list refreshed soon. Nobody waits for it.
func (s *session) poke() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// keepList refreshes the list now and then, less often while the service does not answer.
func (s *session) keepList() {
	wait := refreshEvery
	for s.ctx.Err() == nil {
		list, err := s.wire.List(s.ctx, nil)
		if err == nil {
			err = s.merge(list)
		}
		if s.ctx.Err() != nil {
			return
		}
		wait = min(2*wait, refreshMost)
		if err == nil {
			wait = refreshEvery
			s.setTrouble("")
		} else {
			s.setTrouble(words(err))
		}
		if pause(s.ctx, refreshLeast) != nil {
			return
		}
		timer := time.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-s.ctx.Done():
		case <-s.nudge:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// merge takes over what the service lists.
func (s *session) merge(list []wire.Machine) error {
	if len(list) > maxMachines {
		return fmt.Errorf("%w: it lists more than %d machines", client.ErrServer, maxMachines)
	}
	listed := map[string]bool{}
	for _, w := range list {
		if !usableName(w.Name) {
			s.m.config.Logger.Warn("the hosted service lists a machine of a name that cannot be used", "name", w.Name[:min(len(w.Name), 50)])
			continue
		}
		listed[w.Name] = true
		r, err := s.known(s.ctx, w, "", machine.Client{})
		if err != nil {
			return err
		}
		r.heard(w)
	}
	for _, r := range s.remotes() {
		if !listed[r.name] {
			r.unlisted()
		}
	}
	return nil
}

// known is the machine of that name, which is put on record if it is new. Its title, and who made
// it, are only known here.
func (s *session) known(ctx context.Context, w wire.Machine, title string, by machine.Client) (*remote, error) {
	s.mu.Lock()
	r := s.machines[w.Name]
	s.mu.Unlock()
	if r != nil {
		return r, nil
	}
	sum := sha256.Sum256([]byte(s.account.Server + "\n" + s.account.Name + "\n" + w.Name))
	rec := machine.MachineRecord{Machine: machine.Machine{
		ID: machine.ID(hex.EncodeToString(sum[:8])), Name: w.Name, Title: title, Engine: Name, Image: "base", Tags: bounded(w.Tags),
		CreatedAt: w.CreatedAt.UTC(), LastActiveAt: w.CreatedAt.UTC(), ExpiresAt: w.ExpiresAt, Client: by,
	}}
	if err := s.records.Write(ctx, func(to machine.Writer) error { return to.PutMachine(rec) }); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.machines[w.Name]; r != nil {
		return r, nil
	}
	r = newRemote(s, rec)
	s.machines[w.Name] = r
	return r, nil
}

// usableName says whether a name from the service can stand in an address and on a screen.
func usableName(name string) bool {
	return name != "" && len(name) <= maxName && name != "new" && name != "list" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '/' || r == '\\' || r == '?' || r == '#' || r == '%'
	})
}

// bounded are tags as they come from the service, as many and as long as are shown.
func bounded(tags map[string]string) map[string]string {
	const most, longest = 50, 200
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if len(out) < most && len(key) <= longest && len(tags[key]) <= longest {
			out[strings.ToValidUTF8(key, "?")] = strings.ToValidUTF8(tags[key], "?")
		}
	}
	return out
}

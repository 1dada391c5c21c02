package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Person is somebody of a team who works on this daemon from another computer. Their token opens
// the ForeverVM wire, and there the machines that they made.
type Person struct {
	// ID names them forever. Their machines have it, so that nobody of the same name gets them.
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	MadeAt time.Time `json:"made_at"`
	// UsedOn is the day their token was last used, in UTC; zero where it never was.
	UsedOn time.Time `json:"used_on,omitzero"`
	// RemovedAt is zero for who is there.
	RemovedAt time.Time `json:"removed_at,omitzero"`
	// Hash is the SHA-256 of their token, in hexadecimal. The token has 256 random bits, so nobody
	// finds it by its hash. "" for who was removed.
	Hash string `json:"hash,omitempty"`
}

// Removed says that the person has no token any more.
func (p *Person) Removed() bool { return p.Hash == "" }

var (
	// ErrNoPerson says that there is nobody of such an ID.
	ErrNoPerson = errors.New("there is no such person")
	// ErrPersonName says that a name cannot be a person's.
	ErrPersonName = errors.New("a person needs a name of 1 to 60 bytes, of letters, digits and spaces")
	// ErrPersonThere says that another person has the name.
	ErrPersonThere = errors.New("there is a person of that name")
)

// People are those of a team. All methods may be called from any goroutine.
type People struct {
	write func([]byte) error

	mu   sync.Mutex
	all  []Person // oldest first
	live map[string]*lease
}

// lease is how long what a person's token has opened stays open.
type lease struct {
	ctx context.Context
	end context.CancelFunc
}

// Nobody is a team without people, to which none can be added.
func Nobody() *People {
	return &People{write: func([]byte) error { return errors.ErrUnsupported }, live: map[string]*lease{}}
}

// OpenPeople reads who is in the team, and keeps it by write. There need be no file.
func OpenPeople(file string, write func([]byte) error) (*People, error) {
	p := &People{write: write, live: map[string]*lease{}}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &p.all)
	}
	if err != nil { // else who was removed could come back
		return nil, fmt.Errorf("the list of people in %s cannot be read; mend it, or delete it: then nobody's token opens anything, and their machines stay: %w", file, err)
	}
	return p, nil
}

// Caller says whose token it is; ok is false where it is nobody's.
func (p *People) Caller(token string) (c Caller, ok bool) {
	sum := hashOf(token)
	p.mu.Lock()
	defer p.mu.Unlock()
	found := -1
	for i := range p.all { // all of them, so that the time tells nothing
		if subtle.ConstantTimeCompare([]byte(p.all[i].Hash), []byte(sum)) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Caller{}, false
	}
	person := &p.all[found]
	if today := time.Now().UTC().Truncate(24 * time.Hour); !person.UsedOn.Equal(today) {
		person.UsedOn = today
		_ = p.save() // the date is a hint; the token is good without
	}
	if p.live[person.ID] == nil {
		ctx, end := context.WithCancel(context.Background())
		p.live[person.ID] = &lease{ctx, end}
	}
	return Caller{Name: person.Name, Person: person.ID, Until: p.live[person.ID].ctx}, true
}

// List are all who ever were in the team, oldest first.
func (p *People) List() []Person {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// Get is who has, or had, an ID.
func (p *People) Get(id string) (Person, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.all, func(one Person) bool { return one.ID == id })
	if i < 0 {
		return Person{}, false
	}
	return p.all[i], true
}

// Add makes a person and their token, which cannot be shown again.
func (p *People) Add(name string) (Person, string, error) {
	name = strings.TrimSpace(name)
	if name == "" || name != clip(name) || len(name) > maxName {
		return Person{}, "", ErrPersonName
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.all, func(one Person) bool { return !one.Removed() && strings.EqualFold(one.Name, name) }) {
		return Person{}, "", ErrPersonThere
	}
	var serial [8]byte
	_, _ = rand.Read(serial[:]) // never fails
	hash, token := newPersonToken()
	made := Person{ID: "person-" + hex.EncodeToString(serial[:]), Name: name, MadeAt: time.Now().UTC(), Hash: hash}
	p.all = append(p.all, made)
	if err := p.save(); err != nil {
		p.all = p.all[:len(p.all)-1]
		return Person{}, "", err
	}
	return made, token, nil
}

// Renew makes a new token for a person. The one before opens nothing from now on.
func (p *People) Renew(id string) (Person, string, error) {
	hash, token := newPersonToken()
	now, err := p.change(id, func(one *Person) { one.Hash = hash })
	if err != nil {
		return Person{}, "", err
	}
	return now, token, nil
}

// Remove ends a person's token at once, and what it has open. Their ID stays theirs.
func (p *People) Remove(id string) (Person, error) {
	return p.change(id, func(one *Person) { one.Hash, one.RemovedAt = "", time.Now().UTC() })
}

// change changes somebody who is there, and ends what their token has open.
func (p *People) change(id string, change func(*Person)) (Person, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.all, func(one Person) bool { return one.ID == id && !one.Removed() })
	if i < 0 {
		return Person{}, ErrNoPerson
	}
	before := p.all[i]
	change(&p.all[i])
	if err := p.save(); err != nil {
		p.all[i] = before
		return Person{}, err
	}
	if open := p.live[id]; open != nil {
		open.end()
		delete(p.live, id)
	}
	return p.all[i], nil
}

// save is called with mu held.
func (p *People) save() error {
	data, err := json.MarshalIndent(p.all, "", "  ")
	if err == nil {
		err = p.write(append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("the list of people cannot be written: %w", err)
	}
	return nil
}

func newPersonToken() (hash, token string) {
	var id [4]byte
	var secret [32]byte
	_, _ = rand.Read(id[:]) // never fails
	_, _ = rand.Read(secret[:])
	token = "person-" + hex.EncodeToString(id[:]) + "." + base64.RawURLEncoding.EncodeToString(secret[:])
	return hashOf(token), token
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Package access knows which tokens open the daemon, and how far.
//
// The owner's token opens everything. The window and the command line have it. Every other token
// opens what the tools of AI apps do with machines, and no more. There are three kinds:
//
//   - The programs' token, which `forevervm token` prints for SDKs.
//   - A token of an AI app. `forevervm mcp` makes it of the owner's token and the app's name, and
//     shows the daemon only that.
//   - A token that a person makes for one program, by name.
//
// Tokens of the last two kinds are an HMAC of the owner's: nothing secret is kept for them, and a
// new owner's token ends them all. tokens.json holds their names, and which are revoked.
//
// People of a team have tokens of another kind, which open another door: see People.
package access

import (
	"context"
	"crypto/hmac"
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
	"unicode"
)

// Kind is what a token was made for.
type Kind string

const (
	App     Kind = "app"     // an AI app, by the name that it has over MCP
	Program Kind = "program" // one program, by a person's name for it
)

// Caller is who shows a token.
type Caller struct {
	// Owner says that the token opens everything.
	Owner bool
	// Name is the AI app's, the program's or the person's; "" for the owner, and for the programs'
	// token.
	Name string
	// Person is the ID of somebody of a team; "" for all others.
	Person string
	// Until ends when that person's token does; nil for all others.
	Until context.Context
}

// Grant is a token that was given to an AI app or a program.
type Grant struct {
	ID     string    `json:"id"`
	Kind   Kind      `json:"kind"`
	Name   string    `json:"name"`
	MadeAt time.Time `json:"made_at"`
	// UsedOn is the day it was last used, in UTC; zero where it never was.
	UsedOn time.Time `json:"used_on,omitzero"`
	// Revoked says that it opens nothing. A program's is deleted instead.
	Revoked bool `json:"revoked,omitempty"`
}

var (
	// ErrUnknown says that no token has such an ID.
	ErrUnknown = errors.New("there is no such token")
	// ErrName says that a name does not fit.
	ErrName = errors.New("a token needs a name of 1 to 60 letters, digits and spaces that no other has")
)

const (
	maxName   = 60  // characters of a name
	maxGrants = 500 // that are kept; nobody has so many apps
)

// Keys are the tokens of one daemon. All methods may be called from any goroutine.
type Keys struct {
	owner, programs string
	write           func([]byte) error

	mu     sync.Mutex
	grants []Grant // oldest first
}

// ForOwner are the keys of a daemon that only its owner's token opens.
func ForOwner(owner string) *Keys {
	return &Keys{owner: owner, write: func([]byte) error { return errors.ErrUnsupported }}
}

// Open reads what is known of the tokens that were given, and keeps it by write. There need be no
// file. The owner's and the programs' token are "id.secret".
func Open(file, owner, programs string, write func([]byte) error) (*Keys, error) {
	k := &Keys{owner: owner, programs: programs, write: write}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &k.grants)
	}
	if err != nil { // else what was revoked would be open again
		return nil, fmt.Errorf("the list of tokens in %s cannot be read; mend it, or delete it, which revokes the programs' and allows all AI apps: %w", file, err)
	}
	return k, nil
}

// ForApp is the token of an AI app. It is the same each time.
func ForApp(owner, app string) string { return derive(owner, appID(app)) }

func appID(app string) string {
	return "app-" + base64.RawURLEncoding.EncodeToString([]byte(clip(app)))
}

func derive(owner, id string) string {
	mac := hmac.New(sha256.New, []byte(owner))
	mac.Write([]byte("token " + id))
	return id + "." + hex.EncodeToString(mac.Sum(nil))
}

// Caller says who shows a token; ok is false where it opens nothing.
func (k *Keys) Caller(token string) (c Caller, ok bool) {
	switch {
	case Same(token, k.owner):
		return Caller{Owner: true}, true
	case Same(token, k.programs):
		return Caller{}, true
	}
	id, _, _ := strings.Cut(token, ".")
	if !Same(token, derive(k.owner, id)) {
		return Caller{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	i := k.find(id)
	if i < 0 {
		encoded, isApp := strings.CutPrefix(id, "app-")
		name, err := base64.RawURLEncoding.DecodeString(encoded)
		if !isApp || err != nil {
			return Caller{}, false
		}
		if len(k.grants) >= maxGrants { // what is revoked must stay known
			return Caller{Name: string(name)}, true
		}
		k.grants = append(k.grants, Grant{ID: id, Kind: App, Name: string(name), MadeAt: time.Now().UTC()})
		i = len(k.grants) - 1
	}
	g := &k.grants[i]
	if g.Revoked {
		return Caller{Name: g.Name}, false
	}
	if today := time.Now().UTC().Truncate(24 * time.Hour); !g.UsedOn.Equal(today) {
		g.UsedOn = today
		_ = k.save() // the date is a hint; the token is good without
	}
	return Caller{Name: g.Name}, true
}

// List are all grants, oldest first.
func (k *Keys) List() []Grant {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.grants)
}

// New makes a token for a program. It cannot be shown again.
func (k *Keys) New(name string) (g Grant, token string, err error) {
	name = strings.TrimSpace(name)
	k.mu.Lock()
	defer k.mu.Unlock()
	taken := slices.ContainsFunc(k.grants, func(g Grant) bool { return g.Kind == Program && g.Name == name })
	if name == "" || taken || name != clip(name) {
		return Grant{}, "", ErrName
	}
	var serial [8]byte
	_, _ = rand.Read(serial[:]) // never fails
	g = Grant{ID: "program-" + hex.EncodeToString(serial[:]), Kind: Program, Name: name, MadeAt: time.Now().UTC()}
	k.grants = append(k.grants, g)
	if err := k.save(); err != nil {
		k.grants = k.grants[:len(k.grants)-1]
		return Grant{}, "", err
	}
	return g, derive(k.owner, g.ID), nil
}

// Allow lets an AI app in again, or locks it out. Of a program, false deletes the token for good.
func (k *Keys) Allow(id string, allowed bool) (Grant, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := k.find(id)
	if i < 0 {
		return Grant{}, ErrUnknown
	}
	before := slices.Clone(k.grants)
	g := &k.grants[i]
	g.Revoked = !allowed
	now := *g
	if g.Kind == Program && !allowed {
		k.grants = slices.Delete(k.grants, i, i+1)
	}
	if err := k.save(); err != nil {
		k.grants = before
		return Grant{}, err
	}
	return now, nil
}

func (k *Keys) find(id string) int {
	return slices.IndexFunc(k.grants, func(g Grant) bool { return g.ID == id })
}

func (k *Keys) save() error {
	data, err := json.MarshalIndent(k.grants, "", "  ")
	if err != nil {
		return err
	}
	if err := k.write(append(data, '\n')); err != nil {
		return fmt.Errorf("the list of tokens cannot be written: %w", err)
	}
	return nil
}

// Same compares secrets in a time that tells nothing about either, their lengths included. No
// secret is the same as an empty one.
func Same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return b != "" && subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// clip makes a name fit to be shown: printable, and not long.
func clip(name string) string {
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(name, ""))
	if letters := []rune(name); len(letters) > maxName {
		name = string(letters[:maxName])
	}
	return strings.TrimSpace(name)
}

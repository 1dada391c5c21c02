package parcel

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
)

// Standing is what is known here of a file's maker.
type Standing string

const (
	Own      Standing = "own"      // made on this computer
	Accepted Standing = "accepted" // by somebody whose files the person has accepted before
	Unknown  Standing = "unknown"
)

// Maker is somebody whose files the person has accepted.
type Maker struct {
	Key        ed25519.PublicKey `json:"key"`
	Name       string            `json:"name"` // as the person calls them
	AcceptedAt time.Time         `json:"accepted_at"`
}

// Fingerprint names a key in 32 letters and digits, for people to compare: 160 bits, which nobody
// makes another key for.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	text := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20]))
	var groups []string
	for part := range slices.Chunk([]byte(text), 4) {
		groups = append(groups, string(part))
	}
	return strings.Join(groups, "-")
}

// Makers are this computer's own key, and whose files were accepted. All methods may be called from
// any goroutine.
//
// The key is a file beside the local token, and not in the keyring: who can read the person's files
// can do with their machines what they like anyway, and a keyring that is locked, or missing as on
// a server, would keep people from saving their own machines.
type Makers struct {
	dirs home.Dirs
	mu   sync.Mutex // held while the file of accepted ones is changed
}

// key is this computer's own, made when it is first needed.
func (m *Makers) key(ctx context.Context) (ed25519.PrivateKey, error) {
	seed, err := m.dirs.EnsureMakerSeed(ctx)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// Standing says what is known of a maker, and what the person calls them; "" where that is not
// known.
func (m *Makers) Standing(key ed25519.PublicKey) (Standing, string, error) {
	seed, err := m.dirs.ReadMakerSeed()
	if err != nil && !errors.Is(err, home.ErrNoMakerKey) {
		return Unknown, "", err
	}
	if err == nil && key.Equal(ed25519.NewKeyFromSeed(seed).Public()) {
		return Own, "", nil
	}
	all, err := m.Accepted()
	if err != nil {
		return Unknown, "", err
	}
	for _, a := range all {
		if a.Key.Equal(key) {
			return Accepted, a.Name, nil
		}
	}
	return Unknown, "", nil
}

// Accepted are all whose files were accepted, in the order in which they were.
func (m *Makers) Accepted() ([]Maker, error) {
	data, err := os.ReadFile(m.dirs.MakersFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []Maker
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err == nil && slices.ContainsFunc(all, func(a Maker) bool { return len(a.Key) != ed25519.PublicKeySize }) {
		err = errors.New("a key in it is none")
	}
	if err != nil {
		return nil, fmt.Errorf("the list of whose files you have accepted (%s) cannot be read; mend it or delete it, and accept them again: %w", m.dirs.MakersFile(), err)
	}
	return all, nil
}

const maxMakerName = 100

// checkMakerName says what is wrong with what a person calls a maker.
func checkMakerName(name string) error {
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxMakerName || strings.ContainsFunc(name, unicode.IsControl) {
		return &machine.Error{Kind: machine.ErrInvalid, Message: fmt.Sprintf("A maker's name may have at most %d characters, on one line.", maxMakerName)}
	}
	return nil
}

// accept remembers a maker under a name.
func (m *Makers) accept(key ed25519.PublicKey, name string) error {
	return m.change(func(all []Maker) []Maker {
		all = slices.DeleteFunc(all, func(a Maker) bool { return a.Key.Equal(key) })
		return append(all, Maker{Key: key, Name: name, AcceptedAt: time.Now().UTC()})
	})
}

// Forget has the maker with a fingerprint be unknown again.
func (m *Makers) Forget(fingerprint string) error {
	found := false
	err := m.change(func(all []Maker) []Maker {
		return slices.DeleteFunc(all, func(a Maker) bool {
			same := Fingerprint(a.Key) == fingerprint
			found = found || same
			return same
		})
	})
	if err == nil && !found {
		err = &machine.Error{Kind: machine.ErrNotFound, Message: "No maker with this fingerprint was accepted."}
	}
	return err
}

func (m *Makers) change(how func([]Maker) []Maker) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, err := m.Accepted()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(how(all), "", "  ")
	if err != nil {
		return err
	}
	return home.WritePrivate(m.dirs.MakersFile(), data)
}

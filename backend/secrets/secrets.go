// Package secrets keeps what a person's code needs and must not see: keys of services. A value is
// in the operating system's keyring and nowhere else; a file says which secrets there are, and who
// may use them where. Code in a machine has a placeholder, which the proxy to the network replaces.
package secrets

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
)

// Bounds.
const (
	MaxSecrets = 100
	MaxHosts   = 20
	MaxValue   = 8 << 10 // bytes
	minValue   = 8       // less could be found by chance in what a service answers
)

// Secret is one, without its value.
type Secret struct {
	// Name is the environment variable in which code finds the placeholder.
	Name string `json:"name"`
	// Hosts are names, perhaps with a wildcard at their beginning, that get the value over HTTPS.
	Hosts []string `json:"hosts"`
	// Machines may use it; none for all.
	Machines []machine.ID `json:"machines,omitempty"`
	// Placeholder stands for the value in machines.
	Placeholder string    `json:"placeholder"`
	CreatedAt   time.Time `json:"created_at"`
}

// For says whether a machine may use it.
func (s Secret) For(id machine.ID) bool {
	return len(s.Machines) == 0 || slices.Contains(s.Machines, id)
}

// Goes says whether a host, in lower case, gets it.
func (s Secret) Goes(host string) bool {
	return slices.ContainsFunc(s.Hosts, func(text string) bool {
		rule, err := machine.ParseHostRule(text)
		return err == nil && rule.MatchesName(host, port)
	})
}

// port is the only one to which secrets go.
const port = 443

// Keyring holds values by name. Each method may take as long as a person needs to unlock it.
type Keyring interface {
	// Get returns "" where there is none of the name.
	Get(name string) (string, error)
	Set(name, value string) error
	Delete(name string) error
}

// Store keeps the secrets of a home. Its methods may be called from any goroutine. There is one
// writing process for a home: the daemon.
type Store struct {
	path    string
	keyring Keyring

	mu     sync.Mutex // held while something is changed, and while the keyring is asked
	values map[string]string
	kept   []Secret
	read   bool
}

// Open returns the store whose list is in a file.
func Open(path string, keyring Keyring) *Store {
	return &Store{path: path, keyring: keyring, values: map[string]string{}}
}

// List returns all, by name.
func (s *Store) List() ([]Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.list()
	return slices.Clone(all), err
}

// Of returns those that a machine may use. What cannot be read is none.
func (s *Store) Of(id machine.ID) []Secret {
	all, _ := s.List()
	return slices.DeleteFunc(all, func(one Secret) bool { return !one.For(id) })
}

func (s *Store) list() ([]Secret, error) {
	if s.read {
		return s.kept, nil
	}
	data, err := os.ReadFile(s.path)
	if err == nil {
		err = json.Unmarshal(data, &s.kept)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("which secrets there are cannot be read from %s; delete that file and enter them again: %w", s.path, err)
	}
	s.read = true
	return s.kept, nil
}

func (s *Store) write(all []Secret) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = home.WritePrivate(s.path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("which secrets there are cannot be kept: %w", err)
	}
	s.kept = all
	return nil
}

var names = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// reserved are variables that machines need themselves.
var reserved = regexp.MustCompile(`(?i)^(?:PATH|HOME|LANG|.*_PROXY|PYTHON.*|PIP_.*|LD_.*|SSL_CERT_.*|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)$`)

// Check says what is wrong with a secret, as a sentence.
func Check(name string, hosts []string, value string) error {
	switch {
	case !names.MatchString(name):
		return machine.Invalid("%q cannot be the name of a secret. Use letters, digits and _, such as OPENAI_API_KEY.", name)
	case reserved.MatchString(name):
		return machine.Invalid("%s has another meaning in machines. Choose another name.", name)
	case len(hosts) == 0 || len(hosts) > MaxHosts:
		return machine.Invalid("Name the hosts that get the secret, such as api.openai.com: one to %d.", MaxHosts)
	case len(value) < minValue || len(value) > MaxValue:
		return machine.Invalid("A secret has %d to %d characters.", minValue, MaxValue)
	case strings.ContainsFunc(value, func(c rune) bool { return c > unicode.MaxASCII || c < ' ' }) || strings.TrimSpace(value) != value:
		return machine.Invalid("A secret is one line of ASCII letters, digits and signs, without spaces around it.")
	}
	for _, host := range hosts {
		rule, err := machine.ParseHostRule(host)
		if err != nil {
			return err
		}
		if rule.IsAny(port) || !rule.IsName() || strings.Contains(host, ":") || !strings.Contains(strings.TrimPrefix(host, "*."), ".") {
			return machine.Invalid("%s cannot get a secret. Name a host such as api.openai.com or *.openai.com, without a port.", host)
		}
	}
	return nil
}

// Set keeps a secret, in place of one of the same name. The placeholder of one that is replaced
// stays.
func (s *Store) Set(name string, hosts []string, machines []machine.ID, value string) (Secret, error) {
	if err := Check(name, hosts, value); err != nil {
		return Secret{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.list()
	if err != nil {
		return Secret{}, err
	}
	secret := Secret{Name: name, Machines: slices.Clone(machines), CreatedAt: time.Now().UTC()}
	for _, host := range hosts {
		secret.Hosts = append(secret.Hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
	}
	all = slices.Clone(all)
	i := slices.IndexFunc(all, func(one Secret) bool { return one.Name == name })
	if i >= 0 {
		secret.Placeholder = all[i].Placeholder
		all[i] = secret
	} else {
		if len(all) >= MaxSecrets {
			return Secret{}, machine.Invalid("There are %d secrets already. Remove one that is not used.", MaxSecrets)
		}
		secret.Placeholder = placeholder(value)
		all = append(all, secret)
		slices.SortFunc(all, func(a, b Secret) int { return strings.Compare(a.Name, b.Name) })
	}
	if err := s.keyring.Set(name, value); err != nil {
		return Secret{}, unavailable("The secret is not kept", err)
	}
	s.values[name] = value
	return secret, s.write(all)
}

// Remove forgets a secret.
func (s *Store) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.list()
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(all), func(one Secret) bool { return one.Name == name })
	if len(left) == len(all) {
		return &machine.Error{Kind: machine.ErrNotFound, Message: fmt.Sprintf("There is no secret %q.", name)}
	}
	// The keyring first: a file that forgot the secret would leave its value there forever.
	if err := s.keyring.Delete(name); err != nil {
		return unavailable("The secret is not forgotten", err)
	}
	delete(s.values, name)
	return s.write(left)
}

func unavailable(what string, err error) error {
	return &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("%s: %v.", what, err)}
}

// Value is what a secret stands for.
func (s *Store) Value(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.values[name]; ok {
		return value, nil
	}
	value, err := s.keyring.Get(name)
	if err == nil && value == "" {
		err = fmt.Errorf("the keyring no longer holds %s; enter it again", name)
	}
	if err != nil {
		return "", err
	}
	s.values[name] = value
	return value, nil
}

// seedName is an entry of the keyring that no secret can have.
const seedName = "authority of machines"

// Seed is what the certificate authorities of machines are made of: 32 bytes, the same as long as
// the keyring keeps them.
func (s *Store) Seed() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.values[seedName]
	if !ok {
		var err error
		if text, err = s.keyring.Get(seedName); err != nil {
			return nil, err
		}
	}
	seed, err := hex.DecodeString(text)
	if err != nil || len(seed) != 32 {
		seed = make([]byte, 32)
		_, _ = rand.Read(seed) // never fails
		text = hex.EncodeToString(seed)
		if err := s.keyring.Set(seedName, text); err != nil {
			return nil, err
		}
	}
	s.values[seedName] = text
	return seed, nil
}

// prefix is how keys of many services begin, which some libraries insist on.
var prefix = regexp.MustCompile(`^[a-z]{2,6}[-_]`)

// placeholder makes up what stands for a value. Nobody can guess it.
func placeholder(value string) string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return prefix.FindString(value) + "forevervm" + hex.EncodeToString(random[:])
}

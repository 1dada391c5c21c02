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

	"golang.org/x/net/publicsuffix"
	"golang.org/x/sync/singleflight"

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
	// Machines may use it; none for all of the daemon's own user.
	Machines []machine.ID `json:"machines,omitempty"`
	// Placeholder stands for the value in machines.
	Placeholder string    `json:"placeholder"`
	CreatedAt   time.Time `json:"created_at"`
}

// For says whether a machine of that owner may use it. One of somebody of a team has to be named.
func (s Secret) For(id machine.ID, owner string) bool {
	return len(s.Machines) == 0 && owner == "" || slices.Contains(s.Machines, id)
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

	changing sync.Mutex // held while something is changed, and while the keyring is asked for that

	mu     sync.Mutex // guards what follows; never held while the keyring is asked
	values map[string]string
	failed map[string]failure // of the keyring, by what was asked for
	kept   []Secret
	read   bool

	asking singleflight.Group
}

type failure struct {
	err error
	at  time.Time
}

// failedFor is how long the keyring is not asked again after it has failed: code in machines can
// have it asked at any time.
const failedFor = 30 * time.Second

// Open returns the store whose list is in a file.
func Open(path string, keyring Keyring) *Store {
	return &Store{path: path, keyring: keyring, values: map[string]string{}, failed: map[string]failure{}}
}

// List returns all, by name.
func (s *Store) List() ([]Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read {
		return slices.Clone(s.kept), nil
	}
	data, err := os.ReadFile(s.path)
	if err == nil {
		err = json.Unmarshal(data, &s.kept)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("which secrets there are cannot be read from %s; delete that file and enter them again: %w", s.path, err)
	}
	s.read = true
	return slices.Clone(s.kept), nil
}

// Of returns those that a machine of that owner may use. What cannot be read is none.
func (s *Store) Of(id machine.ID, owner string) []Secret {
	all, _ := s.List()
	return slices.DeleteFunc(all, func(one Secret) bool { return !one.For(id, owner) })
}

func (s *Store) write(all []Secret) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = home.WritePrivate(s.path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("which secrets there are cannot be kept: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
		below := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "*."), "."))
		shared, _ := publicsuffix.PublicSuffix(below)
		switch {
		case rule.IsAny(port) || !rule.IsName() || strings.Contains(host, ":") || !strings.Contains(below, "."):
			return machine.Invalid("%s cannot get a secret. Name a host such as api.openai.com or *.openai.com, without a port.", host)
		case shared == below:
			return machine.Invalid("%s cannot get a secret: the names below %s belong to different people. Name one host.", host, below)
		}
	}
	return nil
}

// Set keeps a secret, in place of one of the same name, whose placeholder stays, and whose machines
// do where none are named.
func (s *Store) Set(name string, hosts []string, machines []machine.ID, value string) (Secret, error) {
	if err := Check(name, hosts, value); err != nil {
		return Secret{}, err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	all, err := s.List()
	if err != nil {
		return Secret{}, err
	}
	secret := Secret{Name: name, Machines: slices.Clone(machines), CreatedAt: time.Now().UTC()}
	for _, host := range hosts {
		secret.Hosts = append(secret.Hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
	}
	i := slices.IndexFunc(all, func(one Secret) bool { return one.Name == name })
	if i >= 0 {
		secret.Placeholder = all[i].Placeholder
		if len(machines) == 0 {
			secret.Machines = all[i].Machines
		}
		all[i] = secret
	} else {
		if len(all) >= MaxSecrets {
			return Secret{}, machine.Invalid("There are %d secrets already. Remove one that is not used.", MaxSecrets)
		}
		secret.Placeholder = placeholder(value)
		all = append(all, secret)
		slices.SortFunc(all, func(a, b Secret) int { return strings.Compare(a.Name, b.Name) })
	}
	// The list first: a new value must not go to the hosts of before. Until it is there, none goes.
	if err := s.keyring.Delete(name); err != nil {
		return Secret{}, unavailable("The secret is not kept", err)
	}
	s.remember(name, "")
	if err := s.write(all); err != nil {
		return Secret{}, err
	}
	if err := s.keyring.Set(name, value); err != nil {
		return Secret{}, unavailable("The secret is not kept", err)
	}
	s.remember(name, value)
	return secret, nil
}

// Remove forgets a secret.
func (s *Store) Remove(name string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	all, err := s.List()
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
	s.remember(name, "")
	return s.write(left)
}

// Clear forgets all, so that the keyring holds nothing more.
func (s *Store) Clear() error {
	all, err := s.List()
	if err != nil || len(all) == 0 {
		return err
	}
	for _, one := range all {
		if err := s.Remove(one.Name); err != nil {
			return err
		}
	}
	return s.keyring.Delete(seedName)
}

func unavailable(what string, err error) error {
	return &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("%s: %v.", what, err)}
}

// Value is what a secret stands for.
func (s *Store) Value(name string) (string, error) {
	value, err := s.held(name)
	if err == nil && value == "" {
		err = fmt.Errorf("the keyring no longer holds %s; enter it again", name)
	}
	return value, err
}

// held is what the keyring holds under a name. It is asked once, for however many want to know.
func (s *Store) held(name string) (string, error) {
	s.mu.Lock()
	text, ok := s.values[name]
	failed := s.failed[name]
	s.mu.Unlock()
	if ok {
		return text, nil
	}
	if failed.err != nil && time.Since(failed.at) < failedFor {
		return "", failed.err
	}
	found, err, _ := s.asking.Do(name, func() (any, error) {
		text, err := s.keyring.Get(name)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.failed[name] = failure{err, time.Now()}
		} else if text != "" {
			s.values[name] = text
		}
		return text, err
	})
	if err != nil {
		return "", err
	}
	return found.(string), nil
}

// remember saves asking the keyring; "" makes it be asked again.
func (s *Store) remember(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed, name)
	if text == "" {
		delete(s.values, name)
	} else {
		s.values[name] = text
	}
}

// seedName is an entry of the keyring that no secret can have.
const seedName = "authority of machines"

// Seed is what the certificate authorities of machines are made of: 32 bytes, the same as long as
// the keyring keeps them.
func (s *Store) Seed() ([]byte, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	text, err := s.held(seedName)
	if err != nil {
		return nil, err
	}
	seed, err := hex.DecodeString(text)
	if err == nil && len(seed) == 32 {
		return seed, nil
	}
	seed = make([]byte, 32)
	_, _ = rand.Read(seed) // never fails
	text = hex.EncodeToString(seed)
	if err := s.keyring.Set(seedName, text); err != nil {
		return nil, err
	}
	s.remember(seedName, text)
	return seed, nil
}

// prefixes are how keys of services begin. Some libraries insist on them, and they say nothing.
var prefixes = []string{
	"sk-proj-", "sk-ant-", "sk-", "sk_live_", "sk_test_", "github_pat_", "ghp_", "gho_", "glpat-", "hf_", "xoxb-", "xoxp-", "gsk_", "pplx-", "tvly-",
}

// placeholder makes up what stands for a value. Nobody can guess it.
func placeholder(value string) string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	text := "forevervm" + hex.EncodeToString(random[:])
	for _, prefix := range prefixes {
		if strings.HasPrefix(value, prefix) {
			return prefix + text
		}
	}
	return text
}

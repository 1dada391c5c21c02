// Package credentials keeps the tokens of hosted ForeverVM accounts: in the operating system's
// keyring, and nowhere else. A file beside the settings only says which accounts there are.
package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/forevervm/desktop/backend/home"
)

// TokenVariable carries a token where there is no keyring; ServerVariable says of which service, if
// it is not the usual one.
const (
	TokenVariable  = "FOREVERVM_TOKEN"
	ServerVariable = "FOREVERVM_BASE_URL"
)

// Kinds of errors, told apart with errors.Is. The errors themselves are sentences for the person.
var (
	ErrSignedOut = errors.New("nobody is signed in")
	ErrNoKeyring = errors.New("no keyring")
	ErrLocked    = errors.New("keyring locked")
	ErrDenied    = errors.New("keyring denied")
)

// Account is one account of one service.
type Account struct {
	Server string `json:"server"`  // as Server writes it
	Name   string `json:"account"` // as the service calls it; "" where that was not asked yet
}

// Store keeps tokens. Its methods may be called from any goroutine; each may take as long as a
// person needs to unlock the keyring. There is one writing process for a home: the daemon.
type Store struct {
	path    string // of the file that lists the accounts
	service string // what the keyring's entries are called
	given   given
	mu      sync.Mutex // held while something is changed
}

// given is what the environment says.
type given struct {
	server string
	secret Secret
	err    error // it says something that cannot be used
}

// Open returns the store of a home. A token in the environment is taken out of it, so that no
// program that is started later gets it.
func Open(dirs home.Dirs) *Store {
	s := &Store{path: dirs.AccountsFile(), service: serviceOf(dirs)}
	if text, ok := os.LookupEnv(TokenVariable); ok && text != "" {
		s.given.secret, s.given.err = Parse(text)
		if s.given.err == nil {
			s.given.server, s.given.err = Server(os.Getenv(ServerVariable))
		}
		_ = os.Unsetenv(TokenVariable) // never fails with such a name
	}
	return s
}

// serviceOf is what the keyring's entries of a home are called.
func serviceOf(dirs home.Dirs) string {
	if dirs.Root != "" { // homes beside the usual one share nothing with it
		return "ForeverVM in " + dirs.Root
	}
	return "ForeverVM"
}

// FromEnvironment says whether the environment decides who is signed in.
func (s *Store) FromEnvironment() bool { return !s.given.secret.Empty() || s.given.err != nil }

// Changeable returns why nobody can sign in or out, where the environment decides.
func (s *Store) Changeable() error {
	if s.FromEnvironment() {
		return fmt.Errorf("the account is set by %s where ForeverVM is started; unset it there, start ForeverVM again, and then sign in or out", TokenVariable)
	}
	return nil
}

// index is the file.
type index struct {
	Accounts []Account `json:"accounts"`
	Current  *Account  `json:"current,omitempty"`
}

func (s *Store) read() (index, error) {
	var all index
	data, err := os.ReadFile(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return index{}, fmt.Errorf("which accounts you are signed in with cannot be read from %s; delete that file and sign in again: %w", s.path, err)
	}
	return all, nil
}

func (s *Store) write(all index) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = home.WritePrivate(s.path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("which accounts you are signed in with cannot be kept: %w", err)
	}
	return nil
}

// Accounts returns all that are kept, and which of them is used; nil for none.
func (s *Store) Accounts() (all []Account, current *Account, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := s.read()
	return file.Accounts, file.Current, err
}

// Current returns the account that is used, with its token. It is ErrSignedOut where there is none.
func (s *Store) Current() (Account, Secret, error) {
	if s.FromEnvironment() {
		if s.given.err != nil {
			return Account{}, Secret{}, fmt.Errorf("%s cannot be used: %w", TokenVariable, s.given.err)
		}
		return Account{Server: s.given.server}, s.given.secret, nil
	}
	s.mu.Lock()
	file, err := s.read()
	s.mu.Unlock()
	if err != nil {
		return Account{}, Secret{}, err
	}
	if file.Current == nil {
		return Account{}, Secret{}, ErrSignedOut
	}
	var text string
	err = ask(func() (err error) {
		text, err = keyring.Get(s.service, file.Current.entry())
		return err
	})
	if errors.Is(err, keyring.ErrNotFound) {
		return *file.Current, Secret{}, fmt.Errorf("%w: the keyring no longer holds the token of %s; sign in again", ErrSignedOut, file.Current)
	}
	if err != nil {
		return *file.Current, Secret{}, err
	}
	secret, err := Parse(text)
	if err != nil {
		return *file.Current, Secret{}, fmt.Errorf("what the keyring holds for %s is damaged; sign in again: %w", file.Current, err)
	}
	return *file.Current, secret, nil
}

// Keep puts an account's token into the keyring, and uses that account from now on.
func (s *Store) Keep(a Account, secret Secret) error {
	if err := s.Changeable(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := s.read()
	if err != nil {
		return err
	}
	if err := ask(func() error { return keyring.Set(s.service, a.entry(), secret.Reveal()) }); err != nil {
		return err
	}
	if !slices.Contains(file.Accounts, a) {
		file.Accounts = append(file.Accounts, a)
	}
	file.Current = &a
	return s.write(file)
}

// Use makes another account that is kept the one that is used.
func (s *Store) Use(a Account) error {
	if err := s.Changeable(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := s.read()
	if err != nil {
		return err
	}
	if !slices.Contains(file.Accounts, a) {
		return fmt.Errorf("%w with %s; sign in first", ErrSignedOut, a)
	}
	file.Current = &a
	return s.write(file)
}

// Forget removes an account's token from the keyring. If it was the one that is used, none is
// afterwards.
func (s *Store) Forget(a Account) error {
	if err := s.Changeable(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := s.read()
	if err != nil {
		return err
	}
	// The keyring first: a file that forgot the account would leave its token there forever.
	if err := ask(func() error { return keyring.Delete(s.service, a.entry()) }); err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return err
	}
	file.Accounts = slices.DeleteFunc(file.Accounts, func(b Account) bool { return a == b })
	if file.Current != nil && *file.Current == a {
		file.Current = nil
	}
	return s.write(file)
}

// Vault is a part of the keyring that holds texts by name, for one home. Its methods may be called
// from any goroutine; each may take as long as a person needs to unlock the keyring.
type Vault struct{ service string }

// OpenVault returns the part that has this name.
func OpenVault(dirs home.Dirs, name string) Vault {
	return Vault{serviceOf(dirs) + " " + name}
}

// Get returns "" where nothing is held under the name.
func (v Vault) Get(name string) (text string, err error) {
	err = ask(func() (err error) {
		text, err = keyring.Get(v.service, name)
		return err
	})
	if errors.Is(err, keyring.ErrNotFound) {
		return "", nil
	}
	return text, ofVault(err)
}

// ofVault says the same for texts as keyringError does for tokens.
func ofVault(err error) error {
	for kind, sentence := range map[error]string{
		ErrLocked:    "your keyring is locked; unlock it (say by signing in to your computer again) and try once more",
		ErrDenied:    "your computer does not let ForeverVM use the keyring; allow it when you are asked, and try once more",
		ErrNoKeyring: "this computer has no keyring that ForeverVM can reach; install one (such as GNOME Keyring), sign in to your computer again, and try once more",
	} {
		if errors.Is(err, kind) {
			return &vaultError{sentence, kind}
		}
	}
	return err
}

// vaultError is a sentence of a kind.
type vaultError struct {
	sentence string
	kind     error
}

// Error returns the sentence.
func (e *vaultError) Error() string { return e.sentence }

// Unwrap gives errors.Is the kind.
func (e *vaultError) Unwrap() error { return e.kind }

// Set holds a text under a name.
func (v Vault) Set(name, text string) error {
	return ofVault(ask(func() error { return keyring.Set(v.service, name, text) }))
}

// Delete forgets the text of a name. It is no error where there is none.
func (v Vault) Delete(name string) error {
	err := ask(func() error { return keyring.Delete(v.service, name) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return ofVault(err)
}

// String is the account for people: "ada at https://api.forevervm.com".
func (a Account) String() string {
	if a.Name == "" {
		return a.Server
	}
	return a.Name + " at " + a.Server
}

// entry names the account within our part of the keyring.
func (a Account) entry() string { return a.Name + " " + a.Server }

// patience is how long a person may take to unlock the keyring when the system asks them to.
const patience = 90 * time.Second

// ask does something with the keyring. The libraries know no deadline, so one that never answers is
// left behind. Its errors are sentences.
func ask(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return explain(err)
	case <-timer.C:
		return trouble(ErrLocked, fmt.Errorf("no answer within %s", patience))
	}
}

// explain makes a sentence of what the keyring says.
func explain(err error) error {
	switch {
	case err == nil, errors.Is(err, keyring.ErrNotFound):
		return err
	case errors.Is(err, keyring.ErrUnsupportedPlatform):
		return trouble(ErrNoKeyring, err)
	}
	if kind := kindOf(err); kind != nil {
		return trouble(kind, err)
	}
	return fmt.Errorf("the keyring, where ForeverVM keeps your token, fails: %w. %s", err, instead)
}

const instead = "On a server, set " + TokenVariable + " where ForeverVM is started. The token is never kept anywhere else"

// keyringError is a sentence of a kind.
type keyringError struct{ kind, cause error }

func trouble(kind, cause error) error { return &keyringError{kind, cause} }

// Error returns the sentence.
func (e *keyringError) Error() string {
	switch {
	case errors.Is(e.kind, ErrLocked):
		return "your keyring, where ForeverVM keeps your token, is locked: unlock it (say by signing in to your computer again) and try once more. " + instead
	case errors.Is(e.kind, ErrDenied):
		return "your computer does not let ForeverVM use the keyring, where it keeps your token: allow it when you are asked, and try once more. " + instead
	}
	return "this computer has no keyring that ForeverVM can reach, where it would keep your token. On a desktop, install one (such as GNOME Keyring) and sign in to your computer again. " + instead
}

// Unwrap gives errors.Is the kind and the cause.
func (e *keyringError) Unwrap() []error { return []error{e.kind, e.cause} }

//go:build linux && system

package credentials_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/credentials"
	"github.com/forevervm/desktop/backend/credentials/keyringtest"
	"github.com/forevervm/desktop/backend/home"
)

const secretText = "c0ffee00.The-Secret-Part-Of-A-Token-9xYz"

func open(t *testing.T, folder string) *credentials.Store {
	t.Helper()
	dirs, err := home.Resolve(folder)
	if err == nil {
		err = dirs.Make()
	}
	if err != nil {
		t.Fatal(err)
	}
	return credentials.Open(dirs)
}

func parse(t *testing.T, text string) credentials.Secret {
	t.Helper()
	secret, err := credentials.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// Tokens of several accounts are kept in a real keyring, and in no file. Without a keyring, or with
// one that is locked, the error says what to do.
func TestAccountsInARealKeyring(t *testing.T) {
	keyring, err := keyringtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := keyring.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Setenv(keyringtest.Variable, keyring.Address)
	t.Setenv(credentials.TokenVariable, "")
	folder := t.TempDir()
	s := open(t, folder)
	if _, _, err := s.Current(); !errors.Is(err, credentials.ErrSignedOut) {
		t.Errorf("at first: %v", err)
	}
	ada := credentials.Account{Server: credentials.DefaultServer, Name: "ada"}
	bob := credentials.Account{Server: "https://example.com", Name: "bob"}
	other := strings.Replace(secretText, "9xYz", "bobs", 1)
	for account, text := range map[credentials.Account]string{ada: secretText, bob: other} {
		if err := s.Keep(account, parse(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Use(ada); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder) // as the next daemon does
	if account, secret, err := s.Current(); err != nil || account != ada || secret.Reveal() != secretText {
		t.Errorf("kept: %v, %v, %v", account, secret, err)
	}
	if _, _, err := open(t, t.TempDir()).Current(); !errors.Is(err, credentials.ErrSignedOut) {
		t.Errorf("another home is signed in: %v", err)
	}
	if err := s.Forget(ada); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Current(); !errors.Is(err, credentials.ErrSignedOut) {
		t.Errorf("signed out: %v", err)
	}
	if err := s.Use(ada); err == nil {
		t.Error("an account that was forgotten can be used")
	}
	if err := s.Use(bob); err != nil {
		t.Fatal(err)
	}
	nowhere(t, folder, secretText, other)

	if err := keyring.Lock(); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Current()
	explains(t, err, credentials.ErrLocked, "locked")
	explains(t, s.Keep(ada, parse(t, secretText)), credentials.ErrLocked, "locked")
	if err := keyring.EndDaemon(); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Current()
	explains(t, err, credentials.ErrNoKeyring, "no keyring")
	explains(t, s.Keep(ada, parse(t, secretText)), credentials.ErrNoKeyring, "no keyring")
	nowhere(t, folder, secretText, other)
	if all, current, err := s.Accounts(); err != nil || len(all) != 1 || *current != bob {
		t.Errorf("what failed has changed who is signed in: %v, %v, %v", all, current, err)
	}
}

// Where the system lets programs not speak to the keyring, that is said.
func TestDenied(t *testing.T) {
	keyring, err := keyringtest.StartDenying()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := keyring.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Setenv(keyringtest.Variable, keyring.Address)
	t.Setenv(credentials.TokenVariable, "")
	folder := t.TempDir()
	explains(t, open(t, folder).Keep(credentials.Account{Server: credentials.DefaultServer, Name: "ada"}, parse(t, secretText)), credentials.ErrDenied, "does not let")
	nowhere(t, folder, secretText)
}

// Where there is not even a bus, as on a server, the same is said.
func TestNoBus(t *testing.T) {
	t.Setenv(keyringtest.Variable, "unix:path="+filepath.Join(t.TempDir(), "none"))
	t.Setenv(credentials.TokenVariable, "")
	explains(t, open(t, t.TempDir()).Keep(credentials.Account{Server: credentials.DefaultServer, Name: "ada"}, parse(t, secretText)), credentials.ErrNoKeyring, "no keyring")
}

func explains(t *testing.T, err, kind error, word string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "FOREVERVM_TOKEN") || strings.Contains(err.Error(), secretText) {
		t.Errorf("got %v, want %v", err, kind)
	}
}

// nowhere looks for texts in every file.
func nowhere(t *testing.T, folder string, texts ...string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, text := range texts {
			if strings.Contains(string(data), text) {
				t.Errorf("%s holds a token", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A token in the environment is used, decides, and is not passed on.
func TestTokenInTheEnvironment(t *testing.T) {
	t.Setenv(credentials.TokenVariable, secretText)
	t.Setenv(credentials.ServerVariable, "")
	s := open(t, t.TempDir())
	if account, secret, err := s.Current(); err != nil || account.Server != credentials.DefaultServer || secret.Reveal() != secretText {
		t.Errorf("%v, %v, %v", account, secret, err)
	}
	if _, there := os.LookupEnv(credentials.TokenVariable); there {
		t.Error("programs that are started would get the token")
	}
	if err := s.Keep(credentials.Account{Server: credentials.DefaultServer, Name: "ada"}, parse(t, secretText)); err == nil || !strings.Contains(err.Error(), "FOREVERVM_TOKEN") {
		t.Errorf("signing in beside it: %v", err)
	}
	t.Setenv(credentials.TokenVariable, "nonsense")
	if _, _, err := open(t, t.TempDir()).Current(); err == nil || strings.Contains(err.Error(), "nonsense") {
		t.Errorf("nonsense in the environment: %v", err)
	}
}

// What the official command line keeps is found as it writes it, and removed only while it is what
// was found.
func TestOfficial(t *testing.T) {
	user := t.TempDir()
	t.Setenv("HOME", user)
	if found, err := credentials.FindOfficial(); found != nil || err != nil {
		t.Errorf("without a file: %v, %v", found, err)
	}
	path := filepath.Join(user, ".config", "forevervm", "config.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("{\n  \"token\": null,\n  \"server_url\": \"https://api.forevervm.com/\"\n}\n")
	if found, err := credentials.FindOfficial(); found != nil || err != nil {
		t.Errorf("signed out there: %v, %v", found, err)
	}
	write(`{"token": 5`)
	if found, err := credentials.FindOfficial(); found != nil || err == nil {
		t.Errorf("a damaged file: %v, %v", found, err)
	}
	write("{\n  \"token\": \"" + secretText + "\",\n  \"server_url\": \"https://api.forevervm.com/\"\n}\n")
	found, err := credentials.FindOfficial()
	if err != nil || found == nil || found.Server != credentials.DefaultServer || found.Secret.Reveal() != secretText {
		t.Fatalf("%v, %v", found, err)
	}
	write(`{"token": "another.one"}`)
	if err := found.Remove(); err == nil {
		t.Error("another token was removed")
	}
	write(`{"token": "` + secretText + `"}`)
	if err := found.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

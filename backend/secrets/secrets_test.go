package secrets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/secrets"
	"github.com/forevervm/desktop/backend/secrets/secretstest"
)

const value = "ghp_0123456789abcdef"

func TestSecretsAreKept(t *testing.T) {
	file, keyring := filepath.Join(t.TempDir(), "secrets.json"), secretstest.Keyring{}
	store := secrets.Open(file, keyring)
	one, err := store.Set("GITHUB_TOKEN", []string{"API.github.com."}, []machine.ID{"m"}, value)
	if err != nil || !strings.HasPrefix(one.Placeholder, "ghp_forevervm") || one.Placeholder == value {
		t.Fatalf("%+v, %v", one, err)
	}
	if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), value) {
		t.Errorf("the file holds %s, %v", data, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	// Another process finds it, with the same placeholder and the same seed.
	seed, err := store.Seed()
	again := secrets.Open(file, keyring)
	found := again.Of("m", "")
	read, err2 := again.Value("GITHUB_TOKEN")
	same, err3 := again.Seed()
	if err != nil || err2 != nil || err3 != nil || len(found) != 1 || found[0].Placeholder != one.Placeholder || read != value || string(same) != string(seed) || len(seed) != 32 {
		t.Errorf("%+v, %q, %v, %v, %v", found, read, err, err2, err3)
	}
	if len(again.Of("another", "")) != 0 {
		t.Error("a machine that may not use it has it")
	}
	if everybodys := (secrets.Secret{}); !everybodys.For("m", "") || everybodys.For("m", "person-1") || !found[0].For("m", "person-1") {
		t.Error("a machine of somebody of a team has what it was not named for, or not what it was")
	}
	if !found[0].Goes("api.github.com") || found[0].Goes("github.com") || found[0].Goes("api.github.com.example") {
		t.Errorf("it goes to other hosts than %q", found[0].Hosts)
	}

	// A new value keeps the placeholder: code that runs has it.
	other, err := again.Set("GITHUB_TOKEN", []string{"*.github.com"}, nil, "ghp_another_value")
	if err != nil || other.Placeholder != one.Placeholder || len(again.Of("another", "")) != 0 || len(again.Of("m", "")) != 1 {
		t.Errorf("%+v, %v", other, err)
	}
	if err := again.Remove("GITHUB_TOKEN"); err != nil || keyring["GITHUB_TOKEN"] != "" || len(again.Of("m", "")) != 0 {
		t.Errorf("%v, %v", keyring, err)
	}
	if err := again.Remove("GITHUB_TOKEN"); err == nil {
		t.Error("what is not there is forgotten")
	}
	if _, err := again.Set("ANOTHER", []string{"a.example"}, nil, value); err != nil {
		t.Fatal(err)
	}
	if err := again.Clear(); err != nil || len(keyring) != 0 {
		t.Errorf("the keyring still holds %v, %v", keyring, err)
	}
}

func TestWhatIsNoSecret(t *testing.T) {
	store := secrets.Open(filepath.Join(t.TempDir(), "secrets.json"), secretstest.Keyring{})
	for _, wrong := range []struct{ name, host, value string }{
		{"", "a.example", value},
		{"no name", "a.example", value},
		{"HTTPS_PROXY", "a.example", value},
		{"LD_PRELOAD", "a.example", value},
		{"PYTHONPATH", "a.example", value},
		{"KEY", "*", value},
		{"KEY", "*:443", value},
		{"KEY", "*.com", value},
		{"KEY", "*.co.uk", value},
		{"KEY", "*.github.io", value},
		{"KEY", "localhost", value},
		{"KEY", "10.0.0.1", value},
		{"KEY", "10.0.0.0/8", value},
		{"KEY", "a.example:8443", value},
		{"KEY", "a b", value},
		{"KEY", "a.example", "short"},
		{"KEY", "a.example", " " + value},
		{"KEY", "a.example", value + "\n" + value},
		{"KEY", "a.example", strings.Repeat("x", secrets.MaxValue+1)},
	} {
		if _, err := store.Set(wrong.name, []string{wrong.host}, nil, wrong.value); err == nil {
			t.Errorf("%+v is a secret", wrong)
		}
	}
}

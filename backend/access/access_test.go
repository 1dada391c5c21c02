package access

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	owner    = "owner-1.0123456789abcdef0123456789abcdef"
	programs = "local-1.fedcba9876543210fedcba9876543210"
)

func open(t *testing.T, file string) *Keys {
	t.Helper()
	k, err := Open(file, owner, programs, func(data []byte) error { return os.WriteFile(file, data, 0o600) })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestWhoOpensWhat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.json")
	k := open(t, file)
	_, made, err := k.New(" My script ")
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]Caller{
		owner:                           {Owner: true},
		programs:                        {},
		ForApp(owner, "Claude Desktop"): {Name: "Claude Desktop"},
		ForApp(owner, "Café\n\x00 日本"):  {Name: "Café 日本"},
		made:                            {Name: "My script"},
	} {
		for _, k := range []*Keys{k, open(t, file)} { // and after a restart
			if got, ok := k.Caller(token); !ok || got != want {
				t.Errorf("%q is %+v, %v; want %+v", token, got, ok, want)
			}
		}
	}
	for _, token := range []string{
		"", ".", owner + "x", "owner-1." + strings.Repeat("0", 64), ForApp(programs, "Claude Desktop"), ForApp("", "Claude Desktop"),
		strings.Replace(made, "program-", "program-0", 1), derive(owner, "program-0000000000000000"), derive(owner, "app-!"), derive(owner, ""),
	} {
		if got, ok := k.Caller(token); ok {
			t.Errorf("%q opens the daemon to %+v", token, got)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, secret, _ := strings.Cut(made, "."); strings.Contains(string(data), secret) || !strings.Contains(string(data), "My script") {
		t.Errorf("the file holds %s", data)
	}
}

func TestRevoked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.json")
	k := open(t, file)
	script, made, err := k.New("My script")
	if err != nil {
		t.Fatal(err)
	}
	app := ForApp(owner, "Cursor")
	k.Caller(app)
	for _, id := range []string{script.ID, appID("Cursor")} {
		if _, err := k.Allow(id, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []*Keys{k, open(t, file)} {
		for _, token := range []string{made, app} {
			if _, ok := k.Caller(token); ok {
				t.Errorf("%q opens the daemon after it was revoked", token)
			}
		}
	}
	if _, err := k.Allow(script.ID, true); !errors.Is(err, ErrUnknown) {
		t.Errorf("a deleted token: %v", err)
	}
	if _, err := k.Allow(appID("Cursor"), true); err != nil {
		t.Fatal(err)
	}
	if _, ok := k.Caller(app); !ok {
		t.Error("an app that is allowed again stays out")
	}
	if _, again, err := k.New("My script"); err != nil || again == made {
		t.Errorf("a new token of an old name is %q, %v", again, err)
	}
	if _, _, err := k.New("My script"); !errors.Is(err, ErrName) {
		t.Errorf("a second token of a name: %v", err)
	}
}

func TestADamagedListOpensNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.json")
	if err := os.WriteFile(file, []byte(`[{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, owner, programs, nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Open: %v", err)
	}
}

func TestTheDayOfUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		k, err := Open(filepath.Join(t.TempDir(), "none"), owner, programs, func([]byte) error { writes++; return nil })
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			k.Caller(ForApp(owner, "Cursor"))
		}
		time.Sleep(25 * time.Hour)
		k.Caller(ForApp(owner, "Cursor"))
		if writes != 2 {
			t.Errorf("two days of use are written %d times", writes)
		}
		if used := k.List()[0].UsedOn; !used.Equal(time.Now().UTC().Truncate(24 * time.Hour)) {
			t.Errorf("used on %v", used)
		}
	})
}

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

func openPeople(t *testing.T, file string) *People {
	t.Helper()
	p, err := OpenPeople(file, func(data []byte) error { return os.WriteFile(file, data, 0o600) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPeople(t *testing.T) {
	file := filepath.Join(t.TempDir(), "people.json")
	p := openPeople(t, file)
	anna, token, err := p.Add(" Anna ")
	if err != nil || anna.Name != "Anna" {
		t.Fatalf("%+v, %v", anna, err)
	}
	_, other, err := p.Add("Ben")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*People{p, openPeople(t, file)} { // and after a restart
		if c, ok := p.Caller(token); !ok || c.Person != anna.ID || c.Name != "Anna" || c.Owner || c.Until.Err() != nil {
			t.Errorf("%+v, %v", c, ok)
		}
		for _, wrong := range []string{"", ".", token + "x", strings.ToUpper(token), anna.Hash, anna.ID} {
			if c, ok := p.Caller(wrong); ok {
				t.Errorf("%q opens %+v", wrong, c)
			}
		}
	}
	data, err := os.ReadFile(file)
	if _, secret, _ := strings.Cut(token, "."); err != nil || strings.Contains(string(data), secret) || !strings.Contains(string(data), "Anna") {
		t.Errorf("the file holds %s, %v", data, err)
	}
	for name, want := range map[string]error{"": ErrPersonName, "\n": ErrPersonName, "a\x00b": ErrPersonName, strings.Repeat("ü", 31): ErrPersonName, "aNNA": ErrPersonThere} {
		if _, _, err := p.Add(name); !errors.Is(err, want) {
			t.Errorf("%q: %v", name, err)
		}
	}

	// A new token ends the one before, and what it has open. Another's goes on.
	was, _ := p.Caller(token)
	ben, _ := p.Caller(other)
	now, renewed, err := p.Renew(anna.ID)
	if err != nil || now.ID != anna.ID || was.Until.Err() == nil || ben.Until.Err() != nil {
		t.Errorf("%+v, %v, %v, %v", now, err, was.Until.Err(), ben.Until.Err())
	}
	if _, ok := p.Caller(token); ok {
		t.Error("the old token opens")
	}
	was, ok := p.Caller(renewed)
	if !ok || was.Until.Err() != nil || was.Person != anna.ID {
		t.Errorf("%+v, %v", was, ok)
	}

	// Who is removed is remembered, and somebody of the same name is another.
	if gone, err := p.Remove(anna.ID); err != nil || !gone.Removed() || gone.RemovedAt.IsZero() || was.Until.Err() == nil {
		t.Errorf("%+v, %v", gone, err)
	}
	for _, p := range []*People{p, openPeople(t, file)} {
		if _, ok := p.Caller(renewed); ok || len(p.List()) != 2 {
			t.Errorf("the token opens: %v; there are %+v", ok, p.List())
		}
		if _, err := p.Remove(anna.ID); !errors.Is(err, ErrNoPerson) {
			t.Errorf("removed twice: %v", err)
		}
		if _, _, err := p.Renew(anna.ID); !errors.Is(err, ErrNoPerson) {
			t.Errorf("renewed: %v", err)
		}
	}
	again, _, err := p.Add("Anna")
	if err != nil || again.ID == anna.ID {
		t.Errorf("%+v, %v", again, err)
	}
}

// What cannot be kept is not so.
func TestPeopleThatCannotBeKept(t *testing.T) {
	broken := errors.New("the disk is full")
	var fails error
	p := Nobody()
	p.write = func([]byte) error { return fails }
	anna, token, err := p.Add("Anna")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := p.Caller(token)
	fails = broken
	if _, _, err := p.Add("Ben"); !errors.Is(err, broken) || len(p.List()) != 1 {
		t.Errorf("%v, %+v", err, p.List())
	}
	if _, err := p.Remove(anna.ID); !errors.Is(err, broken) || c.Until.Err() != nil {
		t.Errorf("%v, %v", err, c.Until.Err())
	}
	if _, ok := p.Caller(token); !ok {
		t.Error("the token opens nothing")
	}
	file := filepath.Join(t.TempDir(), "people.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPeople(file, nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
}

func TestTheDayThatATokenIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		p := Nobody()
		p.write = func([]byte) error { writes++; return nil }
		_, token, err := p.Add("Anna")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			p.Caller(token)
		}
		if used := p.List()[0].UsedOn; writes != 2 || !used.Equal(time.Now().UTC().Truncate(24*time.Hour)) {
			t.Errorf("%d writes, %v", writes, used)
		}
	})
}

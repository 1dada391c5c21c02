//go:build linux && real

package daemon_test

import (
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/store"
)

// Machines outlive their database: with a copy of it they have their names and history, without one
// all that they hold. Nothing that waited to run then runs now, and people are told.
func TestMachinesOutliveTheDatabase(t *testing.T) {
	for what, hurt := range map[string]func(path string) error{
		"missing": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"damaged": func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("rubbish", 1000)), 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			folder := t.TempDir()
			d := start(t, folder)
			c := newCaller(t, d)
			create := func() string {
				return as[api.Machine](c, c.send(http.MethodPost, "/api/machines", api.NewMachine{})).Name
			}
			first := create()
			c.run(first, "x = 1")
			second := create()
			c.run(second, "y = 'kept'")
			path := d.dirs.DatabaseFile()
			if err := d.stop(); err != nil {
				t.Fatal(err)
			}
			if what != "missing" { // there is a copy
				s, err := store.Open(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.BackUp(t.Context(), time.Now(), math.MaxInt64); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				// What came after the copy.
				d = start(t, folder)
				c = newCaller(t, d)
				c.run(first, "x += 1")
				if err := d.stop(); err != nil {
					t.Fatal(err)
				}
			}
			if err := hurt(path); err != nil {
				t.Fatal(err)
			}

			d = start(t, folder)
			c = newCaller(t, d)
			status := as[api.Status](c, c.send(http.MethodGet, "/api/status", nil))
			if told := strings.Join(status.Warnings, "\n"); !strings.Contains(told, "history of the machines was "+map[bool]string{true: "damaged", false: "missing"}[what == "damaged"]) {
				t.Errorf("people are told %q", told)
			}
			names := map[string]string{}
			for _, m := range as[api.List[api.Machine]](c, c.send(http.MethodGet, "/api/machines", nil)).Items {
				names[m.Name] = m.Notice
			}
			if len(names) != 2 {
				t.Fatalf("there are %v", names)
			}
			if what == "missing" {
				values := map[string]bool{}
				for name, notice := range names {
					if !strings.HasPrefix(name, "recovered-") || notice == "" {
						t.Errorf("%s is told of by %q", name, notice)
					}
					values[*c.run(name, "globals().get('x'), globals().get('y')").Value] = true
				}
				if !values["(1, None)"] || !values["(None, 'kept')"] {
					t.Errorf("they hold %v", values)
				}
				return
			}
			if names[first] == "" || names[second] != "" {
				t.Errorf("their notices are %v", names)
			}
			got := c.run(first, "x")
			if *got.Value != "2" || got.Seq < 2 {
				t.Errorf("%s holds %s, in instruction %d", first, *got.Value, got.Seq)
			}
			if got := c.run(second, "y"); *got.Value != "'kept'" || got.Seq != 1 {
				t.Errorf("%s holds %s, in instruction %d", second, *got.Value, got.Seq)
			}
			if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) == 0 {
				t.Error("what was there is not kept")
			}
		})
	}
}

// Memory that has changed on the disk comes back from its blocks. Nobody gets another value: what
// finds the damage ends with an error that says so, and the next one has what was saved.
func TestMemoryThatChangedOnTheDisk(t *testing.T) {
	d := start(t, t.TempDir())
	c := newCaller(t, d)
	name := c.machine()
	id := as[api.Machine](c, c.send(http.MethodGet, "/api/machines/"+name, nil)).ID
	c.run(name, "import hashlib, time\ntime.sleep(1.5)\ndata = b'SILENTROT!' * 10_000_000\ndigest = hashlib.sha256(data).hexdigest()")
	if a := c.send(http.MethodPost, "/api/machines/"+name+"/swap", nil); a.StatusCode >= 300 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	folder := filepath.Join(d.dirs.Data, "machines", id, "checkpoints")
	var recipes []string
	until(t, "the state to be kept as blocks", func() bool {
		recipes, _ = filepath.Glob(filepath.Join(folder, "*.blocks"))
		whole, _ := filepath.Glob(filepath.Join(folder, "*", "pages.img"))
		return len(recipes) > 0 && len(whole) == 1 && strings.TrimSuffix(recipes[len(recipes)-1], ".blocks") == filepath.Dir(whole[0])
	})
	pages := filepath.Join(strings.TrimSuffix(recipes[len(recipes)-1], ".blocks"), "pages.img")
	b, err := os.ReadFile(pages)
	if err != nil {
		t.Fatal(err)
	}
	data := strings.Index(string(b), strings.Repeat("SILENTROT!", 10_000))
	for i := range 6 {
		b[data+60_000_000+i*6_000_000] ^= 4
	}
	if err := os.WriteFile(pages, b, 0o600); err != nil {
		t.Fatal(err)
	}
	right := "hashlib.sha256(data).hexdigest() == digest"
	first := c.run(name, right)
	switch {
	case first.Status == "ok" && *first.Value == "True": // the damage was found as it woke
	case first.Status == "error" && strings.Contains(first.Error, "changed on the disk") && strings.Contains(first.Error, "another copy"):
	default:
		t.Errorf("it gives %+v", first)
	}
	t.Logf("%s %s", first.Status, first.Error)
	if again := c.run(name, right); again.Status != "ok" || *again.Value != "True" {
		t.Errorf("then it gives %+v", again)
	}
	status := as[api.Status](c, c.send(http.MethodGet, "/api/status", nil))
	if told := strings.Join(status.Warnings, " "); !strings.Contains(told, "another copy") || !strings.Contains(told, "disk") {
		t.Errorf("people are told %q", told)
	}
}

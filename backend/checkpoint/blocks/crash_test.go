//go:build !race

package blocks

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever happens, in whatever order, what was acknowledged is restored byte for byte: puts and
// collections that are cut off at any write or rename, power cuts that lose what was not synced,
// deletions, and others that have the store open.
//
// `make soak` does it two thousand times.
func TestNothingIsLost(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("30"); err != nil {
			t.Fatal(err)
		}
	}
	crashes, powerCuts := 0, 0
	defer func() { t.Logf("%d crashes, and %d power cuts", crashes, powerCuts) }()
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		w := newWorld(t, root)
		m := newMortal(filepath.Join(root, "graveyard"), rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2)))
		w.disk = m
		w.small = 4 * Unit
		stores := []*Store{w.open(), w.open()}
		stores[1].small = 0 // an older program
		image := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int {
			return rapid.IntRange(0, 9).Draw(t, "n") + alike*rapid.SampledFrom([]int{0, 0, 1, 2, 9}).Draw(t, "alike")
		}), 0, 12)
		known := func() []string { return slices.Sorted(maps.Keys(w.content)) }
		files := func() map[string][]byte {
			all := map[string][]byte{}
			for _, name := range []string{"pages.img", "checkpoint.img"}[:rapid.IntRange(1, 2).Draw(rt, "files")] {
				b := pages(image.Draw(rt, name)...)
				all[name] = b[:max(0, len(b)-rapid.IntRange(0, 3).Draw(rt, "short")*1000)]
			}
			return all
		}
		near := func() string {
			if names := known(); len(names) > 0 && rapid.Bool().Draw(rt, "near") {
				return rapid.SampledFrom(names).Draw(rt, "of")
			}
			return ""
		}
		// cutOff does something on a disk that dies, and loses what was not synced or not.
		cutOff := func(do func(s *Store) error) {
			m.left = rapid.IntRange(0, 24).Draw(rt, "dies")
			err := do(w.open())
			m.left = -1
			if err != nil && !errors.Is(err, errDied) {
				rt.Fatal(err)
			}
			if err != nil {
				crashes++
			}
			if rapid.Bool().Draw(rt, "power cut") {
				powerCuts++
				m.powerCut()
				stores[0], stores[1] = w.open(), w.open() // the others have died with it
				stores[1].small = 0
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				if _, err := w.put(rapid.SampledFrom(stores).Draw(rt, "store"), files(), near()); err != nil {
					rt.Fatal(err)
				}
			},
			"put what was before": func(rt *rapid.T) { // as who goes back does
				names := known()
				if len(names) == 0 {
					return
				}
				newest := slices.MaxFunc(names, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
				files := w.content[rapid.SampledFrom(names).Draw(rt, "again")]
				if _, err := w.put(rapid.SampledFrom(stores).Draw(rt, "store"), files, newest); err != nil {
					rt.Fatal(err)
				}
			},
			"put, cut off": func(*rapid.T) {
				cutOff(func(s *Store) error {
					_, err := w.put(s, files(), near())
					return err
				})
			},
			"delete": func(rt *rapid.T) {
				if names := known(); len(names) > 0 {
					w.remove(rapid.SampledFrom(names).Draw(rt, "which"))
				}
			},
			"collect": func(rt *rapid.T) {
				if _, err := rapid.SampledFrom(stores).Draw(rt, "store").Collect(context.Background()); err != nil {
					rt.Fatal(err)
				}
			},
			"collect, cut off": func(*rapid.T) {
				cutOff(func(s *Store) error {
					_, err := s.Collect(context.Background())
					return err
				})
			},
			"repair, cut off": func(*rapid.T) {
				cutOff(func(s *Store) error {
					_, err := s.Repair(context.Background())
					return err
				})
			},
			"": func(rt *rapid.T) {
				for _, name := range known() {
					if err := w.restored(stores[0], name); err != nil {
						rt.Fatalf("%s: %v", name, err)
					}
				}
				if r, err := stores[1].Check(context.Background(), true); err != nil || len(r.Damage) > 0 || len(r.Lost) > 0 {
					rt.Fatalf("%+v, %v", r, err)
				}
			},
		})
		// And what nobody needs any more goes.
		for _, name := range known() {
			w.remove(name)
		}
		leftovers, _ := filepath.Glob(filepath.Join(root, "recipes", "*.blocks")) // of puts that nobody was told of
		for _, path := range leftovers {
			_ = os.Remove(path)
		}
		if _, err := w.open().Collect(context.Background()); err != nil {
			rt.Fatal(err)
		}
		entries, _ := os.ReadDir(filepath.Join(root, "blocks"))
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), packSuffix) || strings.HasSuffix(e.Name(), unfinished) {
				rt.Fatalf("%s is left", e.Name())
			}
		}
	})
}

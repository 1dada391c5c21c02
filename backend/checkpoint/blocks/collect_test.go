package blocks

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// However many use the store, one after another without a gap, who wants it for himself gets it,
// and nobody else waits for long.
func TestCollectingGetsItsTurn(t *testing.T) {
	w := newWorld(t, t.TempDir())
	name, err := w.put(w.s, map[string][]byte{"f": pages(1, 2, 3)}, "")
	if err != nil {
		t.Fatal(err)
	}
	w.remove(name)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var users sync.WaitGroup
	for range 5 {
		s := w.open()
		users.Go(func() {
			for {
				release, err := s.share(ctx)
				if err != nil {
					return
				}
				time.Sleep(30 * time.Millisecond) // it has something to do
				release()
			}
		})
	}
	collected := make(chan error, 1)
	go func() {
		_, err := w.open().Collect(t.Context())
		collected <- err
	}()
	select {
	case err := <-collected:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it never gets its turn")
	}
	stop()
	users.Wait()
	if left, _ := w.packs(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// What others need of several packs outlives the collection of all of them, whichever of them the
// index tells of.
func TestTwinsSurviveCollections(t *testing.T) {
	w := newWorld(t, t.TempDir())
	var names []string
	for i := range 6 { // each by a process that knows nothing of the others
		files := map[string][]byte{"f": pages(1, 2, 3, 10+i)}
		other := newWorld(t, t.TempDir())
		name, err := other.put(other.s, files, "")
		if err != nil {
			t.Fatal(err)
		}
		packs, _ := other.packs()
		for _, p := range packs {
			if err := os.Rename(p, filepath.Join(w.s.dir, filepath.Base(p))); err != nil {
				t.Fatal(err)
			}
		}
		names = append(names, "t"+strconv.Itoa(i))
		if err := os.Rename(other.path(name), w.path(names[i])); err != nil {
			t.Fatal(err)
		}
		w.content[names[i]] = files
	}
	for len(names) > 0 {
		i := rand.IntN(len(names))
		w.remove(names[i])
		names = append(names[:i], names[i+1:]...)
		s := w.open()
		if _, err := s.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			for _, s := range []*Store{s, w.open()} {
				if err := w.restored(s, name); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
		if r, err := s.Check(t.Context(), true); err != nil || len(r.Damage)+len(r.Lost) > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if left, _ := w.packs(); len(left) > 0 {
		t.Errorf("of nothing are left %q", left)
	}
}

// BenchmarkCollect gives back a third of 100,000 blocks, and says for how long others have to wait
// for the lock meanwhile.
func BenchmarkCollect(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		w := newWorld(b, b.TempDir())
		var names []string
		for i := range 100 {
			numbers := make([]int, 1000)
			for j := range numbers {
				numbers[j] = 1 + i*1000 + j
			}
			name, err := w.put(w.s, map[string][]byte{"f": pages(numbers...)}, "")
			if err != nil {
				b.Fatal(err)
			}
			names = append(names, name)
		}
		for i, name := range names {
			if i%3 == 0 {
				w.remove(name)
			}
		}
		clear(w.content)
		ctx, stop := context.WithCancel(b.Context())
		longest := make(chan time.Duration, 1)
		go func() {
			var most time.Duration
			for s := w.open(); ; {
				begin := time.Now()
				release, err := s.share(ctx)
				if err != nil {
					longest <- most
					return
				}
				most = max(most, time.Since(begin))
				release()
			}
		}()
		b.StartTimer()
		if _, err := w.s.Collect(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		stop()
		b.ReportMetric(float64((<-longest).Microseconds())/1000, "ms-longest-wait")
		b.StartTimer()
	}
}

// A page becomes what it was before, after it was something else: what it is made of stays, no
// matter who else needed that.
func TestAPageComesBack(t *testing.T) {
	rest := make([]int, 30)
	for i := range rest {
		rest[i] = 10 + i
	}
	for what, images := range map[string][][]int{
		"after another one":           {{1}, {1 + alike}, {5}, {1 + alike}},
		"in another one's place":      {{3, 5, 7}, {3 + alike, 5, 3 + 2*alike}, {5, 3 + 4*alike}, {5, 3 + alike}},
		"after it was zeros":          {{3, 5}, {3 + alike, 5}, {0, 5}, {3 + alike, 5}},
		"after few, in another order": {{0, 5}, {alike, 5}, {5, 2 * alike}, {5, alike}},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			near := ""
			for _, first := range images {
				name, err := w.put(w.s, map[string][]byte{"pages.img": pages(append(first, rest...)...)}, near)
				if err != nil {
					t.Fatal(err)
				}
				near = name
			}
			w.remove("r1")
			w.remove("r2")
			if _, err := w.s.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
			for name := range w.content {
				if err := w.restored(w.open(), name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// What a program changes of a page costs as much as the change.
func TestAChangeIsSmall(t *testing.T) {
	w := newWorld(t, t.TempDir())
	image := make([]int, 1000)
	for i := range image {
		image[i] = 1 + i
	}
	near, err := w.put(w.s, map[string][]byte{"pages.img": pages(image...)}, "")
	if err != nil {
		t.Fatal(err)
	}
	_, before := w.packs()
	for step := range 40 { // more than one chain of lists is long
		for i := range 100 {
			image[(i*7+step)%len(image)] += alike
		}
		if near, err = w.put(w.open(), map[string][]byte{"pages.img": pages(image...)}, near); err != nil {
			t.Fatal(err)
		}
	}
	_, after := w.packs()
	if each := (after - before) / 40; each > 100*150 {
		t.Errorf("a change of ten bytes in each of 100 pages takes %d bytes", each)
	}
	for name := range w.content {
		if err := w.restored(w.s, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

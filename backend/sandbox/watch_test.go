//go:build linux

package sandbox

import "testing"

// When the computer runs short the larger machines go first, and all stay when the shortage passes.
func TestWatchdog(t *testing.T) {
	const gib = 1 << 30
	looks := func(used, available int64) (n int) {
		for w := (watchdog{}); n < 100; {
			n++
			if why, ownLimit := w.look(used, 3*gib, 8*gib, available); why != "" {
				if ownLimit {
					t.Error("the computer's shortage is taken for the machine's own")
				}
				return n
			}
		}
		return -1
	}
	for _, available := range []int64{-1, 8 * gib, floor + 1} {
		if n := looks(2*gib, available); n >= 0 {
			t.Errorf("with %d bytes available it goes at look %d", available, n)
		}
	}
	large, small := looks(2*gib, floor), looks(gib/8, 0)
	if large != 8 || small != 10 {
		t.Errorf("the large machine goes at look %d, the small one at %d", large, small)
	}
	w := watchdog{}
	for range 100 {
		for range small - 1 {
			if why, _ := w.look(gib/8, 3*gib, 8*gib, 0); why != "" {
				t.Fatal(why)
			}
		}
		if why, _ := w.look(gib/8, 3*gib, 8*gib, gib); why != "" {
			t.Fatal(why)
		}
	}
	if why, ownLimit := w.look(3*gib+1, 3*gib, 8*gib, 4*gib); why == "" || !ownLimit {
		t.Errorf("beyond its own limit: %q, %v", why, ownLimit)
	}
	if why, _ := w.look(100*gib, 0, 8*gib, 4*gib); why != "" {
		t.Errorf("without a limit: %q", why)
	}
}

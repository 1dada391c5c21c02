package exchange_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestResultsAreMarkedAsDownloaded(t *testing.T) {
	w := newWorld(t)
	const mark = "user.xdg.origin.url"
	probe := filepath.Join(w.notes, "probe")
	w.write(probe, "")
	if err := unix.Setxattr(probe, mark, []byte("x"), 0); err != nil {
		t.Skip("there is no such mark on this disk:", err)
	}
	for range 2 {
		w.put("plots/a.png", "png")
		w.collect()
		value := make([]byte, 100)
		n, err := unix.Getxattr(filepath.Join(w.results(), "plots", "a.png"), mark, value)
		if err != nil || string(value[:n]) != "forevervm://machine/brave-otter-42" {
			t.Errorf("it is marked %q, %v", value[:max(0, n)], err)
		}
		w.put("plots/a.png", "another")
	}
}

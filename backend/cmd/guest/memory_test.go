//go:build linux

package main

import "testing"

func TestCached(t *testing.T) {
	const meminfo = "MemTotal:        2014200 kB\nCached:           600000 kB\nSwapCached:            0 kB\nShmem:            100000 kB\nHugePages_Total:       0\n"
	if got := cached(meminfo); got != 500000<<10 {
		t.Errorf("%d bytes", got)
	}
	if got := cached("nonsense"); got != 0 {
		t.Errorf("of nonsense, %d bytes", got)
	}
}

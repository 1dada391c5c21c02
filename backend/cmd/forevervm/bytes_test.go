package main

import "testing"

// The window writes the same sizes (frontend/src/lib/format.ts).
func TestSizesReadAsInTheWindow(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 9949: "9.9 kB", 9950: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB", 54_321_000_000: "54 GB", 1_500_000_000_000: "1.5 TB",
	} {
		if got := bytesText(n); got != want {
			t.Errorf("%d is %q instead of %q", n, got, want)
		}
	}
}

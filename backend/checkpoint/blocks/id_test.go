package blocks

import (
	"crypto/rand"
	"testing"

	"lukechampine.com/blake3"
)

// A block's name is its BLAKE3, however much room is behind it.
func TestNamesAreBLAKE3(t *testing.T) {
	b := make([]byte, 8*Unit)
	_, _ = rand.Read(b) // never fails
	for _, part := range [][]byte{b[:Unit], b[:Unit:Unit], b[7*Unit:], b[:Unit-1], b[:100], b[:5*Unit], b[:0]} {
		if idOf(part) != blake3.Sum256(part) {
			t.Errorf("%d bytes of %d have another name", len(part), cap(part))
		}
	}
}

// BenchmarkName names pages, as most of keeping a machine's memory is.
func BenchmarkName(b *testing.B) {
	p := make([]byte, segment)
	_, _ = rand.Read(p) // never fails
	for name, hash := range map[string]func([]byte) ID{"idOf": idOf, "Sum256": func(b []byte) ID { return blake3.Sum256(b) }} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(segment)
			b.ReportAllocs()
			for b.Loop() {
				for i := 0; i < len(p); i += Unit {
					hash(p[i : i+Unit])
				}
			}
		})
	}
}

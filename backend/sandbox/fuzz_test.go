//go:build linux

package sandbox

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// FuzzDeath reads whatever a runner says of its end: it is a violation, or a sentence without a
// word of the machine's.
func FuzzDeath(f *testing.F) {
	for _, header := range []string{
		`{"type":"died","exit_code":3,"signal":null,"reason":"evil"}`, `{"type":"died","signal":11}`, `{"type":"died","signal":64}`,
		`{"type":"died","exit_code":70000}`, `{"type":"died","signal":-3,"exit_code":-1}`, `{"type":"died"}`, `{"signal":"9"}`, `[]`, ``,
	} {
		f.Add([]byte(header))
	}
	f.Fuzz(func(t *testing.T, header []byte) {
		words, err := parseDeath(protocol.Frame{Type: typeDied, Header: header})
		switch {
		case err != nil && !errors.Is(err, protocol.ErrViolation):
			t.Fatalf("an error of another kind: %v", err)
		case err == nil && (!strings.HasPrefix(words, "Python ") || !strings.HasSuffix(words, ".") || len(words) > 200):
			t.Fatalf("told as %q", words)
		case strings.ContainsFunc(words, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }):
			t.Fatalf("told as %q", words)
		}
	})
}

package main

import (
	"strings"
	"testing"
)

// What a machine prints never commands the person's terminal, wherever its writes are cut.
func TestTerminal(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"text":                     {"plain é 😀\ttab\r\n", "plain é 😀\ttab\r\n"},
		"colours":                  {"\x1b[1;31mred\x1b[0m\x1b[K", "\x1b[1;31mred\x1b[0m\x1b[K"},
		"clearing the screen":      {"a\x1b[2Jb", "ab"},
		"the clipboard":            {"a\x1b]52;c;ZXZpbA==\ab", "ab"},
		"the clipboard, 8 bits":    {"A\u009d52;c;ZXZpbA==\u009cB", "A52;c;ZXZpbA==B"},
		"clearing, 8 bits":         {"A\u009b2JB", "A2JB"},
		"a query, 8 bits":          {"A\u0090$qm\u009cB", "A$qmB"},
		"signs just above them":    {"no\u00a0break £ ©", "no\u00a0break £ ©"},
		"a string that never ends": {"a\x1bPq", "a"},
	} {
		var whole, pieces strings.Builder
		if _, err := newTerminal(&whole).WriteString(c.in); err != nil {
			t.Fatal(err)
		}
		cut := newTerminal(&pieces)
		for i := range len(c.in) {
			if _, err := cut.WriteString(c.in[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if whole.String() != c.want || pieces.String() != c.want {
			t.Errorf("%s: %q and, in pieces, %q; want %q", name, whole.String(), pieces.String(), c.want)
		}
	}
}

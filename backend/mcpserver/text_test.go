package mcpserver

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestScreenShowsWhatAPersonWouldSee(t *testing.T) {
	for written, want := range map[string]string{
		"plain\n":                    "plain\n",
		"no newline":                 "no newline",
		"windows\r\nlines\r\n":       "windows\nlines\n",
		"10%\r50%\r100%\n":           "100%\n",
		"10%\r50%":                   "50%",
		"\x1b[31mred\x1b[0m":         "red",
		"\x1b]0;a title\x07text":     "text",
		"\x1b]8;;http://x\x1b\\link": "link",
		"ab\bc":                      "ac",
		"\b\bx":                      "x",
		"a\x00b\x07c":                "abc",
		"tab\there":                  "tab\there",
		"\xff\xfe":                   "�",
		"grüße \U0001f600":           "grüße \U0001f600",
		"\x1b[2K\rGetting it: 3/3\x1b[K\x1b[1;1H": "Getting it: 3/3",
	} {
		if got := readable(written); got != want {
			t.Errorf("readable(%q) = %q, want %q", written, got, want)
		}
	}
}

func TestScreenKeepsHeadAndTail(t *testing.T) {
	s := newScreen(4096)
	const lines = 100_000
	for i := range lines {
		s.write(fmt.Sprintf("line %d\n", i))
	}
	text, cut := s.text()
	if !cut || len(text) > 2*4096 {
		t.Fatalf("cut %v, %d bytes", cut, len(text))
	}
	if !strings.HasPrefix(text, "line 0\nline 1\n") || !strings.HasSuffix(text, fmt.Sprintf("line %d\n", lines-1)) {
		t.Errorf("head or tail are missing: %.60q … %q", text, text[len(text)-60:])
	}
	if !strings.Contains(text, "bytes left out here") {
		t.Error("nothing says that the middle is missing")
	}
	if s.cutAt < 1000 || s.cutAt > 4096 {
		t.Errorf("reading on starts at %d", s.cutAt)
	}
}

// However a text comes in pieces, and whatever it is: the same is shown, as valid text, within
// bounds.
func TestScreenDoesNotDependOnThePieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.OneOf(
			rapid.String(),
			rapid.SampledFrom([]string{"\r", "\n", "\x1b[31m", "\x1b]0;t", "\a", "\x1b", "[", "\b", "\xc3", "\xa9", strings.Repeat("x", 20_000)}),
		)).Draw(t, "pieces")
		limit := rapid.IntRange(200, 5000).Draw(t, "limit")
		whole, bit := newScreen(limit), newScreen(limit)
		joined := strings.Join(pieces, "")
		whole.write(joined)
		for _, p := range pieces {
			bit.write(p)
		}
		a, cutA := whole.text()
		b, cutB := bit.text()
		if a != b || cutA != cutB {
			t.Fatalf("whole %q, in pieces %q", a, b)
		}
		if !utf8.ValidString(a) || strings.ContainsAny(a, "\r\x1b\a\b") {
			t.Fatalf("%q is not fit to be shown", a)
		}
		if len(a) > 3*limit+200 {
			t.Fatalf("%d bytes for a limit of %d", len(a), limit)
		}
		if whole.read != int64(len(joined)) || whole.cutAt > whole.read {
			t.Fatalf("read %d of %d bytes, cut at %d", whole.read, len(joined), whole.cutAt)
		}
	})
}

func TestPieceEnd(t *testing.T) {
	for text, want := range map[string]int{
		"a\nb":            2,
		"abc":             3,
		"":                0,
		"ab\xc3":          2,
		"ab\xc3\xa9":      4,
		"\xf0\x9f\x98":    0,
		"x\xf0\x9f\x98":   1,
		"\x80\x80\x80abc": 6,
	} {
		if got := pieceEnd([]byte(text)); got != want {
			t.Errorf("pieceEnd(%q) = %d, want %d", text, got, want)
		}
	}
}

package naming

import (
	"strings"
	"unicode/utf8"
)

// Clip shortens a text for a message.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// CleanLine makes a client's name fit to be shown and logged.
func CleanLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return Clip(text, 200)
}

// Join puts two sentences one after the other; either may be empty.
func Join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// Unturned is text without the characters that turn the direction of what follows them, beyond its
// end: U+202A to U+202E and U+2066 to U+2069. Languages from right to left need none of them.
func Unturned(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, text)
}

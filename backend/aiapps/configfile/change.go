package configfile

import (
	"bytes"
	"unicode/utf8"
)

// Change is what makes one text out of another: one piece is replaced.
type Change struct {
	Offset   int    `json:"offset"` // in bytes
	Removed  string `json:"removed"`
	Inserted string `json:"inserted"`
}

// Between returns the shortest change from one text to another. It cuts no character in two.
func Between(before, after []byte) Change {
	least := min(len(before), len(after))
	front := 0
	for front < least && before[front] == after[front] {
		front++
	}
	for front > 0 && (startsInside(before, front) || startsInside(after, front)) {
		front--
	}
	back := 0
	for back < least-front && before[len(before)-1-back] == after[len(after)-1-back] {
		back++
	}
	for back > 0 && (startsInside(before, len(before)-back) || startsInside(after, len(after)-back)) {
		back--
	}
	return Change{front, string(before[front : len(before)-back]), string(after[front : len(after)-back])}
}

func startsInside(text []byte, at int) bool { return at < len(text) && !utf8.RuneStart(text[at]) }

// Undo takes the change back in a text that may have changed elsewhere since; ok is false where
// what was inserted is not to be found, or more than once. What comes out must be checked.
func (c Change) Undo(now []byte) (before []byte, ok bool) {
	at := c.Offset
	inserted := []byte(c.Inserted)
	switch {
	case at <= len(now) && bytes.HasPrefix(now[at:], inserted):
	case len(inserted) > 0 && bytes.Count(now, inserted) == 1:
		at = bytes.Index(now, inserted)
	default:
		return nil, false
	}
	return spliced(now, splice{at, at + len(inserted), c.Removed}), true
}

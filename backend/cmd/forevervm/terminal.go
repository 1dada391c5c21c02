package main

import (
	"io"
	"strings"
)

// terminal passes on what a machine printed to a person's terminal, which it must not be able to
// command: of control sequences only colours and the erasing of a line go through, of control
// characters those that lay out text.
type terminal struct {
	to       io.Writer
	sequence []byte // a control sequence that has begun
	inString bool   // an OSC, DCS or the like: ends with BEL or ESC \
	lead     bool   // 0xC2 came, which begins U+0080 … U+00BF
	// fresh says that the last thing written ended a line.
	fresh bool
}

func newTerminal(to io.Writer) *terminal { return &terminal{to: to, fresh: true} }

// longestSequence bounds a colour sequence; a longer one is none.
const longestSequence = 64

// WriteString writes text; a sequence may be cut anywhere between two calls.
func (t *terminal) WriteString(text string) (int, error) {
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		out = t.put(out, text[i])
	}
	if len(out) > 0 {
		t.fresh = out[len(out)-1] == '\n'
	}
	_, err := t.to.Write(out)
	return len(text), err
}

func (t *terminal) put(out []byte, c byte) []byte {
	// U+0080 … U+009F are control characters too: to some terminals U+009D is what ESC ] is.
	if t.lead {
		t.lead = false
		if c < 0xa0 {
			return out
		}
		out = t.plain(out, 0xc2)
	} else if c == 0xc2 {
		t.lead = true
		return out
	}
	return t.plain(out, c)
}

func (t *terminal) plain(out []byte, c byte) []byte {
	switch {
	case t.inString:
		if c == '\a' || c == '\\' && len(t.sequence) > 0 {
			t.inString, t.sequence = false, nil
		} else if t.sequence = nil; c == 0x1b {
			t.sequence = []byte{c}
		}
	case len(t.sequence) == 1: // after ESC
		switch {
		case c == '[':
			t.sequence = append(t.sequence, c)
		case strings.IndexByte("]PX^_", c) >= 0:
			t.inString, t.sequence = true, nil
		default:
			t.sequence = nil
		}
	case len(t.sequence) > 1:
		t.sequence = append(t.sequence, c)
		if c >= 0x40 && c <= 0x7e {
			if (c == 'm' || c == 'K') && strings.Trim(string(t.sequence[2:len(t.sequence)-1]), "0123456789;:") == "" {
				out = append(out, t.sequence...)
			}
			t.sequence = nil
		} else if len(t.sequence) > longestSequence {
			t.sequence = nil
		}
	case c == 0x1b:
		t.sequence = []byte{c}
	case c >= ' ' && c != 0x7f || c == '\n' || c == '\r' || c == '\t' || c == '\b':
		out = append(out, c)
	}
	return out
}

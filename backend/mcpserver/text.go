package mcpserver

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxLine bounds the line that is being written: what a program never ends with a newline.
const maxLine = 16 << 10

// screen turns what a program wrote to a terminal into the text that a person would have seen: no
// colours, no control characters, and of a line that was rewritten (a progress bar) the last state.
// It keeps the head and the tail of long output. The zero value is not ready; use newScreen.
type screen struct {
	limit int // bytes kept, half of them the head
	head  strings.Builder
	tail  []byte
	cut   int64 // bytes between head and tail that were let go

	line    []byte
	escape  escapeState
	rewound bool // a carriage return came; the next character starts the line over

	// read is how many bytes were written in all; cutAt how many of them when the head was full.
	read, cutAt int64
}

type escapeState int

const (
	plain escapeState = iota
	afterEscape
	inSequence // CSI: ends with a letter
	inString   // OSC and its like: ends with BEL or ESC \
)

func newScreen(limit int) *screen { return &screen{limit: limit} }

// write adds what the program wrote, or showed as text.
func (s *screen) write(text string) {
	for i := range len(text) {
		s.read++
		s.put(text[i])
	}
}

func (s *screen) put(c byte) {
	switch s.escape {
	case afterEscape:
		switch c {
		case '[':
			s.escape = inSequence
		case ']', 'P', '_', '^', 'X':
			s.escape = inString
		default:
			s.escape = plain
		}
		return
	case inSequence:
		if c >= 0x40 && c <= 0x7e {
			s.escape = plain
		}
		return
	case inString:
		switch c {
		case '\a':
			s.escape = plain
		case 0x1b:
			s.escape = afterEscape
		}
		return
	}
	switch {
	case c == 0x1b:
		s.escape = afterEscape
	case c == '\n':
		s.line = append(s.line, '\n')
		s.endLine()
	case c == '\r':
		s.rewound = true
		return
	case c == '\b':
		if _, size := utf8.DecodeLastRune(s.line); len(s.line) > 0 {
			s.line = s.line[:len(s.line)-size]
		}
	case c < ' ' && c != '\t' || c == 0x7f:
		// A control character that shows nothing.
	default:
		if s.rewound {
			s.line = s.line[:0]
		}
		s.line = append(s.line, c)
		if len(s.line) >= maxLine && utf8.RuneStart(c) {
			last := s.line[len(s.line)-1]
			s.line = s.line[:len(s.line)-1]
			s.endLine()
			s.line = append(s.line, last)
		}
	}
	s.rewound = false
}

// endLine moves the line into what is kept.
func (s *screen) endLine() {
	line := s.line
	if len(s.tail) == 0 && s.head.Len()+len(line) <= s.limit/2 {
		s.head.Write(line)
	} else {
		if len(s.tail) == 0 {
			s.cutAt = s.read
		}
		s.tail = append(s.tail, line...)
		if len(s.tail) > s.limit {
			drop := len(s.tail) - s.limit/2
			s.cut += int64(drop)
			s.tail = append(s.tail[:0], s.tail[drop:]...)
		}
	}
	s.line = s.line[:0]
}

// clear forgets everything, as IPython's clear_output does.
func (s *screen) clear() {
	*s = screen{limit: s.limit, read: s.read}
}

// text is what is on the screen. Where something was left out in the middle, a line says how much.
func (s *screen) text() (text string, cut bool) {
	tail := string(s.tail) + string(s.line)
	left := s.cut
	if over := len(tail) - s.limit/2; s.head.Len() > 0 && over > 0 || over > s.limit/2 {
		left += int64(over)
		tail = tail[over:]
	}
	if left == 0 {
		return strings.ToValidUTF8(s.head.String()+tail, "�"), false
	}
	return joinCut(s.head.String(), tail, left), true
}

// cutMiddle shortens a text to about limit bytes, keeping head and tail.
func cutMiddle(text string, limit int) (shortened string, cut bool) {
	if len(text) <= limit {
		return text, false
	}
	half := limit / 2
	return joinCut(text[:half], text[len(text)-half:], int64(len(text)-2*half)), true
}

func joinCut(head, tail string, left int64) string {
	head = strings.TrimSuffix(strings.ToValidUTF8(head, ""), "\n")
	return fmt.Sprintf("%s\n[… %d bytes left out here …]\n%s", head, left, strings.ToValidUTF8(tail, ""))
}

// readable is text as a person would see it, whole.
func readable(text string) string {
	s := newScreen(2*len(text) + 2*maxLine)
	s.write(text)
	out, _ := s.text()
	return out
}

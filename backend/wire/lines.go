package wire

import (
	"bytes"
	"unicode/utf8"
)

// MaxChunk is the most bytes of one output chunk; a longer line comes in several.
const MaxChunk = 64 << 10

// Lines makes chunks of an instruction's output: one for each line, without its newline. A carriage
// return starts its line again, so that of a progress bar only the last state is sent. The zero
// value is ready; it holds at most one unfinished line of each stream.
type Lines struct {
	next    int // seq of the next chunk
	streams []*line
}

// line is what a stream has written since its last newline.
type line struct {
	stream string
	text   []byte
	// returned says that a carriage return came last. What it does depends on the next byte: a
	// newline ends the line, anything else starts it again, and at the end the line stands.
	returned bool
	open     bool // something was written since the last chunk; an empty line counts
}

// Write takes output of a stream and hands each chunk that is complete to emit, until emit fails.
func (l *Lines) Write(stream string, text []byte, emit func(Chunk) error) error {
	current := l.line(stream)
	for len(text) > 0 {
		if current.returned {
			current.returned = false
			if text[0] != '\n' {
				current.text = current.text[:0]
			}
		}
		end := bytes.IndexAny(text, "\r\n")
		part := text
		if end >= 0 {
			part = text[:end]
		}
		if err := l.extend(current, part, emit); err != nil {
			return err
		}
		if end < 0 {
			return nil
		}
		switch text[end] {
		case '\r':
			current.returned = true
			current.open = true
		case '\n':
			if err := l.flush(current, len(current.text), emit); err != nil {
				return err
			}
			current.open = false
		}
		text = text[end+1:]
	}
	return nil
}

// Close hands over what has no newline at its end.
func (l *Lines) Close(emit func(Chunk) error) error {
	for _, current := range l.streams {
		if !current.open {
			continue
		}
		if err := l.flush(current, len(current.text), emit); err != nil {
			return err
		}
		*current = line{stream: current.stream}
	}
	return nil
}

func (l *Lines) line(stream string) *line {
	for _, current := range l.streams {
		if current.stream == stream {
			return current
		}
	}
	current := &line{stream: stream}
	l.streams = append(l.streams, current)
	return current
}

// extend adds to a line, handing over what is beyond a chunk's size.
func (l *Lines) extend(current *line, part []byte, emit func(Chunk) error) error {
	if len(part) == 0 {
		return nil
	}
	current.open = true
	for len(current.text)+len(part) > MaxChunk {
		room := MaxChunk - len(current.text)
		current.text = append(current.text, part[:room]...)
		part = part[room:]
		if err := l.flush(current, wholeRunes(current.text), emit); err != nil {
			return err
		}
	}
	current.text = append(current.text, part...)
	return nil
}

// flush hands over the first n bytes of a line as a chunk.
func (l *Lines) flush(current *line, n int, emit func(Chunk) error) error {
	chunk := Chunk{Stream: current.stream, Data: string(bytes.ToValidUTF8(current.text[:n], []byte("\uFFFD"))), Seq: l.next}
	current.text = append(current.text[:0], current.text[n:]...)
	l.next++
	return emit(chunk)
}

// wholeRunes is how much of text can be cut off without cutting a character; all of it where the
// end is not UTF-8.
func wholeRunes(text []byte) int {
	for back := 1; back < utf8.UTFMax && back < len(text); back++ {
		start := len(text) - back
		if !utf8.RuneStart(text[start]) {
			continue
		}
		if !utf8.FullRune(text[start:]) {
			return start
		}
		break
	}
	return len(text)
}

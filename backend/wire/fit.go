package wire

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"
)

// Room left in a message for everything but the parts that Fit measures.
const overhead = 64 << 10

// Fit makes a result small enough for one message: a text too long loses its middle, and the rich
// forms are kept, the picture first, as far as they fit.
func (r *ExecResult) Fit() {
	room := MaxMessage - overhead
	r.Notice = cutMiddle(r.Notice, overhead/2)
	if r.Error != nil {
		text := cutMiddle(*r.Error, room)
		r.Error = &text
		return
	}
	if r.Value != nil {
		text := cutMiddle(*r.Value, room)
		r.Value = &text
		room -= escaped(text)
	}
	if r.Data == nil {
		return
	}
	kept := *r.Data
	if size := base64.StdEncoding.EncodedLen(len(kept.PNG)); size <= room {
		room -= size
	} else {
		kept.PNG = nil
	}
	for _, text := range []*string{&kept.SVG, &kept.Markdown, &kept.LaTeX, &kept.HTML} {
		if size := escaped(*text); size <= room {
			room -= size
		} else {
			*text = ""
		}
	}
	if size := escaped(string(kept.JSON)); size <= room {
		room -= size
	} else {
		kept.JSON = nil
	}
	if escaped(string(kept.Plotly)) > room {
		kept.Plotly = nil
	}
	r.Data = &kept
}

// escaped is the most bytes that a text takes inside of ASCII JSON.
func escaped(text string) int {
	size := 0
	for _, c := range text {
		size += escapedRune(c)
	}
	return size
}

func escapedRune(c rune) int {
	switch {
	case c > 0xFFFF:
		return 12
	case c < ' ' || c >= utf8.RuneSelf:
		return 6
	case c == '"' || c == '\\':
		return 2
	}
	return 1
}

// cutMiddle returns the text, or its beginning and its end with a line between them that says what
// is missing, so that it takes no more than room once escaped.
func cutMiddle(text string, room int) string {
	if len(text)*6 <= room || escaped(text) <= room {
		return text
	}
	half := (room - 100) / 2
	head, tail := 0, len(text)
	for used := 0; head < len(text); {
		c, size := utf8.DecodeRuneInString(text[head:])
		if used += escapedRune(c); used > half {
			break
		}
		head += size
	}
	for used := 0; tail > head; {
		c, size := utf8.DecodeLastRuneInString(text[:tail])
		if used += escapedRune(c); used > half {
			break
		}
		tail -= size
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", text[:head], tail-head, text[tail:])
}

package wire

import (
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// ASCII returns JSON with every character beyond ASCII as \u escapes. The Rust SDK decodes each
// HTTP chunk on its own, so a character of several bytes that falls on a boundary would be lost.
// The input must be valid JSON, where such characters stand only inside of strings.
func ASCII(data []byte) []byte {
	first := 0
	for first < len(data) && data[first] < utf8.RuneSelf {
		first++
	}
	if first == len(data) {
		return data
	}
	out := make([]byte, first, len(data)+len(data)/2)
	copy(out, data)
	for i := first; i < len(data); {
		if data[i] < utf8.RuneSelf {
			out = append(out, data[i])
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		i += size
		if r > 0xFFFF {
			high, low := utf16.EncodeRune(r)
			out = appendEscape(appendEscape(out, high), low)
			continue
		}
		out = appendEscape(out, r)
	}
	return out
}

func appendEscape(out []byte, r rune) []byte {
	return append(out, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

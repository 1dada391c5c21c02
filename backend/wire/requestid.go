package wire

import "strconv"

const (
	requestIDKey = "request_id"
	maxDigits    = 20
)

// RequestIDScanner finds the request_id of a message that is too large to be kept: the message is
// written to it, in as many pieces as it comes in. Its memory is bounded. The zero value is ready.
type RequestIDScanner struct {
	depth    int
	inString bool
	escaped  bool   // the next byte of the string
	inValue  bool   // of the outermost object, as against its keys
	wanted   bool   // this value is the one
	key      []byte // as far as it could be the wanted one
	digits   []byte // of the value
	id       int64
	found    bool
}

// ID returns the request_id, once the whole message was written.
func (s *RequestIDScanner) ID() (id int64, ok bool) { return s.id, s.found }

// Write takes a piece of the message.
func (s *RequestIDScanner) Write(data []byte) (int, error) {
	for _, b := range data {
		if s.inString {
			s.text(b)
		} else {
			s.structure(b)
		}
	}
	return len(data), nil
}

// text takes a byte of a string, its closing quote included.
func (s *RequestIDScanner) text(b byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case b == '\\':
		s.escaped = true
	case b == '"':
		s.inString = false
		return
	}
	if s.depth == 1 && !s.inValue && len(s.key) <= len(requestIDKey) {
		s.key = append(s.key, b)
	}
}

// structure takes a byte outside of strings.
func (s *RequestIDScanner) structure(b byte) {
	switch b {
	case '"':
		s.inString = true
		if !s.inValue {
			s.key = s.key[:0]
		}
	case '{', '[':
		s.depth++
	case '}', ']':
		s.depth--
		if s.depth == 0 {
			s.end()
		}
	case ':':
		if s.depth == 1 {
			s.inValue, s.wanted, s.digits = true, string(s.key) == requestIDKey, s.digits[:0]
		}
	case ',':
		if s.depth == 1 {
			s.end()
		}
	case ' ', '\t', '\r', '\n':
	default:
		if s.depth == 1 && s.wanted && len(s.digits) <= maxDigits {
			s.digits = append(s.digits, b)
		}
	}
}

// end takes note of a value of the outermost object.
func (s *RequestIDScanner) end() {
	if s.wanted {
		id, err := strconv.ParseInt(string(s.digits), 10, 64)
		s.id, s.found = id, err == nil
	}
	s.inValue, s.wanted = false, false
}

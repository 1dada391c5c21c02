// Package protocol is the framing and the messages between runner, supervisor and daemon, as
// backend/runner/PROTOCOL.md and backend/sandbox/PROTOCOL.md lay down. Whatever is read here was
// written by hostile code: every length is bounded before memory is taken for it, and nothing is
// believed that has not been checked.
package protocol

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Bounds of one frame, in bytes.
const (
	MaxHeader  = 1 << 20
	MaxPayload = 8 << 20
	// PrefixSize is the length of the two lengths that every frame begins with.
	PrefixSize = 8
	// maxDepth bounds how deep a header's JSON nests.
	maxDepth = 16
)

// ErrViolation marks input that breaks the protocol. The side that sent it is not to be trusted
// further.
var ErrViolation = errors.New("protocol violated")

func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrViolation, fmt.Sprintf(format, args...))
}

// Frame is one frame as it came: the type taken from its header, the rest not yet looked at.
type Frame struct {
	Type    string
	Header  json.RawMessage
	Payload []byte
}

// Decode reads the header into v. Unknown fields are ignored.
func (f Frame) Decode(v any) error {
	if err := json.Unmarshal(f.Header, v); err != nil {
		return violation("the header of a %q frame does not fit: %v", f.Type, err)
	}
	return nil
}

// Size is how many bytes the frame takes on the wire.
func (f Frame) Size() int { return PrefixSize + len(f.Header) + len(f.Payload) }

// Read reads one frame. It returns io.EOF where the stream ends between two frames,
// io.ErrUnexpectedEOF where it ends within one, and an error that is ErrViolation for anything that
// is not a frame.
func Read(r io.Reader) (Frame, error) {
	var prefix [PrefixSize]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return Frame{}, err
	}
	h, p, err := parsePrefix(prefix[:])
	if err != nil {
		return Frame{}, err
	}
	header, err := readBounded(r, h)
	if err != nil {
		return Frame{}, err
	}
	typ, err := headerType(header)
	if err != nil {
		return Frame{}, err
	}
	payload, err := readBounded(r, p)
	if err != nil {
		return Frame{}, err
	}
	return Frame{Type: typ, Header: header, Payload: payload}, nil
}

func parsePrefix(b []byte) (header, payload int, err error) {
	h, p := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if h < 2 || h > MaxHeader {
		return 0, 0, violation("a header of %d bytes", h)
	}
	if p > MaxPayload {
		return 0, 0, violation("a payload of %d bytes", p)
	}
	return int(h), int(p), nil
}

// readBounded reads exactly n bytes. Memory for all of them is taken when a part has really
// arrived: a claimed length alone costs little, and what comes costs no more than its length and
// that part.
func readBounded(r io.Reader, n int) ([]byte, error) {
	var b []byte
	for _, size := range []int{64 << 10, 1 << 20, n} {
		arrived := len(b)
		size = min(size, n)
		if size == arrived {
			break
		}
		grown := make([]byte, size)
		copy(grown, b)
		b = grown
		if _, err := io.ReadFull(r, b[arrived:]); err != nil {
			return nil, midFrame(err)
		}
	}
	return b, nil
}

func midFrame(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// headerType checks that a header is one JSON object in UTF-8 with a string "type", and returns
// that.
func headerType(header []byte) (string, error) {
	if !utf8.Valid(header) {
		return "", violation("a header that is not UTF-8")
	}
	if err := checkDepth(header); err != nil {
		return "", err
	}
	var t struct {
		Type *string `json:"type"`
	}
	if header[0] != '{' {
		return "", violation("a header that is not a JSON object")
	}
	if err := json.Unmarshal(header, &t); err != nil {
		return "", violation("a header that is not a JSON object: %v", err)
	}
	if t.Type == nil || *t.Type == "" || len(*t.Type) > 64 {
		return "", violation("a header without a type")
	}
	return *t.Type, nil
}

// checkDepth bounds nesting before anything recursive looks at the header.
func checkDepth(header []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(header); i++ {
		switch c := header[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return violation("a header nested deeper than %d", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// Encode makes the bytes of a frame whose header is the JSON of v, which must have a "type".
func Encode(v any, payload []byte) ([]byte, error) {
	header, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a frame's header: %w", err)
	}
	return Raw(header, payload)
}

// Raw makes the bytes of a frame from a header that is already JSON.
func Raw(header, payload []byte) ([]byte, error) {
	if len(header) > MaxHeader || len(payload) > MaxPayload {
		return nil, fmt.Errorf("frame too large: a header of %d bytes, a payload of %d", len(header), len(payload))
	}
	b := make([]byte, PrefixSize, PrefixSize+len(header)+len(payload))
	binary.BigEndian.PutUint32(b, uint32(len(header)))
	binary.BigEndian.PutUint32(b[4:], uint32(len(payload)))
	b = append(b, header...)
	return append(b, payload...), nil
}

// Write writes one frame with a single call of w.Write.
func Write(w io.Writer, v any, payload []byte) error {
	b, err := Encode(v, payload)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

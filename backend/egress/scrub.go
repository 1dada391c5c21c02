package egress

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// formsOf are how services may say a value: as it is, escaped, in hexadecimal digits, and in the
// middle of anything in base 64.
func formsOf(value string) []string {
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value))}
	for before := range 3 { // how many bytes stand before it, in its first group of three
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + value))
		whole := text[(before*8+5)/6 : (before+len(value))*8/6] // without letters that say more than it
		forms = append(forms, whole, strings.NewReplacer("+", "-", "/", "_").Replace(whole))
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// scrubber replaces values of secrets in text that goes to a machine.
type scrubber struct {
	values   []string
	replacer *strings.Replacer
}

// newScrubber replaces each value of pairs, of which the second is put in its place.
func newScrubber(pairs []string) *scrubber {
	s := &scrubber{replacer: strings.NewReplacer(pairs...)}
	for i := 0; i < len(pairs); i += 2 {
		s.values = append(s.values, pairs[i])
	}
	return s
}

// header replaces them in what a service says before its answer.
func (s *scrubber) header(header http.Header) {
	for name, values := range header {
		for i, value := range values {
			values[i] = s.replacer.Replace(value)
		}
		if clean := s.replacer.Replace(name); clean != name {
			delete(header, name)
		}
	}
}

// body is an answer without them. What comes is passed on at once, apart from what may be the
// beginning of a value.
func (s *scrubber) body(from io.ReadCloser) io.ReadCloser {
	return &scrubbed{scrubber: s, from: from, chunk: make([]byte, 32<<10)}
}

type scrubbed struct {
	*scrubber
	from  io.ReadCloser
	chunk []byte
	held  string // may be the beginning of a value
	ready string // to be read
	err   error
}

func (s *scrubbed) Read(b []byte) (int, error) {
	for s.ready == "" {
		if s.err != nil {
			return 0, s.err
		}
		var n int
		n, s.err = s.from.Read(s.chunk)
		text := s.replacer.Replace(s.held + string(s.chunk[:n]))
		keep := 0
		if s.err == nil {
			keep = s.begun(text)
		}
		s.ready, s.held = text[:len(text)-keep], text[len(text)-keep:]
	}
	n := copy(b, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// begun is how much of the end of a text may be the beginning of a value.
func (s *scrubber) begun(text string) (longest int) {
	for _, value := range s.values {
		for n := min(len(value)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, value[:n]) {
				longest = n
				break
			}
		}
	}
	return longest
}

func (s *scrubbed) Close() error { return s.from.Close() }

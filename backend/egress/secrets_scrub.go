package egress

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// formsOf are how services may say a value: as it is, escaped for addresses, JSON and HTML, in
// hexadecimal digits, and in the middle of anything in base 64.
func formsOf(value string) []string {
	query, path, digits := url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value))
	inJSON, _ := json.Marshal(value) // text never fails
	forms := []string{
		value, query, lowerEscapes(query), path, lowerEscapes(path), digits, strings.ToUpper(digits),
		string(inJSON[1 : len(inJSON)-1]), strings.ReplaceAll(value, "/", `\/`), html.EscapeString(value),
	}
	for before := range 3 { // how many bytes stand before it, in its first group of three
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + value))
		whole := text[(before*8+5)/6 : (before+len(value))*8/6] // without letters that say more than it
		forms = append(forms, whole, strings.NewReplacer("+", "-", "/", "_").Replace(whole))
	}
	return forms
}

var escapes = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerEscapes(text string) string { return escapes.ReplaceAllStringFunc(text, strings.ToLower) }

// scrubber replaces values of secrets in text that goes to a machine.
type scrubber struct {
	replacer *strings.Replacer
	longest  int // bytes of the longest form of a value
}

// newScrubber puts placeholders in the place of values.
func newScrubber(placeholders map[string]string) *scrubber {
	by := map[string]string{} // placeholders by form
	for value, placeholder := range placeholders {
		for _, form := range formsOf(value) {
			by[form] = placeholder
		}
	}
	// The longest first: one secret may be the beginning of another.
	forms := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	s := &scrubber{longest: len(forms[0])}
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, by[form])
	}
	s.replacer = strings.NewReplacer(pairs...)
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

// body is an answer without them. What comes is passed on as soon as a line has ended, or so much
// has come after it that no value can begin before. This must not depend on the values: how soon
// its own text comes back would tell a machine how they begin.
func (s *scrubber) body(from io.ReadCloser) io.ReadCloser {
	return &scrubbed{scrubber: s, from: from, chunk: make([]byte, 32<<10)}
}

type scrubbed struct {
	*scrubber
	from  io.ReadCloser
	chunk []byte
	held  string // a value may begin here
	ready string // to be read
	err   error
}

// Read returns what can be told.
func (s *scrubbed) Read(b []byte) (int, error) {
	for s.ready == "" {
		if s.err != nil {
			return 0, s.err
		}
		var n int
		n, s.err = s.from.Read(s.chunk)
		text := s.held + string(s.chunk[:n])
		whole := len(text)
		if s.err == nil {
			whole = max(strings.LastIndexByte(text, '\n')+1, len(text)-s.longest+1)
		}
		s.ready, s.held = s.cut(text, whole)
	}
	n := copy(b, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// cut replaces the values that begin before a place of the text. One that reaches beyond is
// replaced as a whole.
func (s *scrubber) cut(text string, at int) (before, rest string) {
	if at <= 0 {
		return "", text
	}
	clean := s.replacer.Replace(text)
	if clean == text {
		return text[:at], text[at:]
	}
	// All is clean: what follows is held as far as a value may still begin in it.
	at = max(0, len(clean)-(len(text)-at))
	return clean[:at], clean[at:]
}

// Close ends the answer.
func (s *scrubbed) Close() error { return s.from.Close() }

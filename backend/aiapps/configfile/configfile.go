// Package configfile changes one entry in a list of MCP servers that another program keeps in a
// file of JSON, YAML or TOML, and leaves every other byte of the file as it is: comments, order,
// indentation, line endings, byte order mark, final newline.
//
// It finds places with the formats' own parsers, and puts text in or takes it out there. Whatever
// comes of that is parsed again: where anything but the entry would differ, the file is left alone.
package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Format is how a file is written.
type Format string

// The formats.
const (
	JSON  Format = "JSON"
	JSONC Format = "JSON with comments" // comments and trailing commas are allowed
	YAML  Format = "YAML"
	TOML  Format = "TOML"
)

// List says where in a file the servers are listed.
type List struct {
	Format Format
	Keys   []string // the keys that lead to the list; one, but for JSON
	// Items says that it is an array whose items have a "name", and not a map by name.
	Items bool
	// Start is what a file must begin with that was missing or empty; "" for nothing.
	Start string
}

// Server is an entry of the list.
type Server struct {
	Name  string
	Entry Object
}

// ErrBroken says that a file is not what its format asks for; the error is a *BrokenError.
var ErrBroken = errors.New("the file is broken")

// BrokenError says where a file is broken.
type BrokenError struct {
	Line, Column int // from 1; 0 where that is not known
	Problem      string
}

// Error says it in the middle of a sentence.
func (e *BrokenError) Error() string {
	switch {
	case e.Line == 0:
		return e.Problem
	case e.Column == 0:
		return fmt.Sprintf("line %d: %s", e.Line, e.Problem)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// Is makes it an ErrBroken.
func (e *BrokenError) Is(target error) bool { return target == ErrBroken }

// ErrNoWay says that a file is well, but is written in a way that cannot be changed without
// touching other entries.
var ErrNoWay = errors.New("the list of servers is written in a way that ForeverVM cannot change without touching the rest of the file")

// ErrShared is an ErrNoWay: what would change is written with YAML's anchors or aliases, and may
// stand for something elsewhere.
var ErrShared error = shared{}

type shared struct{}

func (shared) Error() string {
	return "the list of servers is written with YAML's anchors and aliases (& and *), so that a change in it could change other places of the file"
}

func (shared) Is(target error) bool { return target == ErrNoWay }

// Servers returns what is listed, in the file's order; a name that is there twice comes once, as
// apps see it.
func (l List) Servers(data []byte) ([]Server, error) {
	doc, err := l.parse(data)
	if err != nil {
		return nil, err
	}
	return l.servers(doc.root())
}

// Set returns the file with the entry of this name, new or replaced.
func (l List) Set(data []byte, name string, entry Object) ([]byte, error) {
	doc, err := l.parse(data)
	if err != nil {
		return nil, err
	}
	before, err := l.servers(doc.root())
	if err != nil {
		return nil, err
	}
	if l.Start != "" && doc.root() == nil {
		if doc, err = l.parse(append(ended(data), l.Start...)); err != nil {
			return nil, ErrNoWay // it holds the word null
		}
	}
	candidates := doc.insert
	if named(before, name) {
		candidates = doc.replace
	}
	return l.first(doc, candidates(name, entry), name, func(after []Server) bool {
		at := slices.IndexFunc(after, func(s Server) bool { return s.Name == name })
		return at >= 0 && Equal(after[at].Entry, l.asRead(name, entry))
	})
}

// Remove returns the file without the entry of this name.
func (l List) Remove(data []byte, name string) ([]byte, error) {
	for {
		doc, err := l.parse(data)
		if err != nil {
			return nil, err
		}
		servers, err := l.servers(doc.root())
		if err != nil {
			return nil, err
		}
		if !named(servers, name) {
			return data, nil
		}
		// A name that is there twice goes one by one.
		shorter, err := l.first(doc, doc.remove(name), name, func([]Server) bool { return true })
		if err != nil {
			return nil, err
		}
		if len(shorter) >= len(data) && bytes.Equal(shorter, data) {
			return nil, ErrNoWay
		}
		data = shorter
	}
}

// SameBut says whether two files agree in all but the entry of this name; a missing list is as good
// as an empty one.
func (l List) SameBut(a, b []byte, name string) bool {
	one, err := l.parse(a)
	if err != nil {
		return false
	}
	other, err := l.parse(b)
	return err == nil && l.rest(one.root(), name) == l.rest(other.root(), name)
}

// document is a parsed file. The methods that change it return candidates, the best first, to be
// parsed and checked.
type document interface {
	root() any // an Object, or nil where the file holds nothing
	insert(name string, entry Object) [][]byte
	replace(name string, entry Object) [][]byte
	remove(name string) [][]byte
}

const byteOrderMark = "\xef\xbb\xbf"

func (l List) parse(data []byte) (document, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	switch l.Format {
	case JSON, JSONC:
		return l.parseJSON(data)
	case YAML:
		return l.parseYAML(data)
	}
	return l.parseTOML(data)
}

// checkText refuses what is no UTF-8, with the place.
func checkText(data []byte) error {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return &BrokenError{Problem: "it is UTF-16, not UTF-8"}
	}
	if utf8.Valid(data) {
		return nil
	}
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	line, column := position(data, at)
	return &BrokenError{Line: line, Column: column, Problem: "it is not UTF-8"}
}

// position counts lines and columns, in code points, from 1.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1
}

// first returns the first candidate that changes nothing but the entry and pleases check.
func (l List) first(doc document, candidates [][]byte, name string, check func([]Server) bool) ([]byte, error) {
	if y, ok := doc.(*yamlDocument); ok && y.shares(name) {
		return nil, ErrShared
	}
	want := l.rest(doc.root(), name)
	for _, candidate := range candidates {
		changed, err := l.parse(candidate)
		if err != nil {
			continue
		}
		servers, err := l.servers(changed.root())
		if err == nil && check(servers) && l.rest(changed.root(), name) == want {
			return candidate, nil
		}
	}
	return nil, ErrNoWay
}

// servers reads the list out of a document's root.
func (l List) servers(root any) ([]Server, error) {
	value := root
	for i, key := range l.Keys {
		object, ok := value.(Object)
		switch {
		case value == nil:
			return nil, nil
		case !ok && i == 0:
			return nil, &BrokenError{Problem: "at its top there is no map of settings"}
		case !ok:
			return nil, &BrokenError{Problem: fmt.Sprintf("%q is not a map", strings.Join(l.Keys[:i], "."))}
		}
		value, _ = object.Get(key)
	}
	var servers []Server
	add := func(name string, value any) {
		entry, _ := value.(Object)
		servers = slices.DeleteFunc(servers, func(s Server) bool { return s.Name == name })
		servers = append(servers, Server{name, entry})
	}
	switch list := value.(type) {
	case nil:
		return nil, nil
	case Object:
		if !l.Items {
			for _, member := range list {
				add(member.Key, member.Value)
			}
			return servers, nil
		}
	case []any:
		if l.Items {
			for _, item := range list {
				if entry, ok := item.(Object); ok && entry.Text("name") != "" {
					add(entry.Text("name"), entry)
				}
			}
			return servers, nil
		}
	}
	return nil, &BrokenError{Problem: fmt.Sprintf("%q is not a list of servers", strings.Join(l.Keys, "."))}
}

// rest is all of a document but the entry of this name, as text.
func (l List) rest(root any, name string) string { return canonical(l.without(root, l.Keys, name)) }

// without drops the entry, and the lists and maps on the way that are empty or null then. Only the
// last of several equal keys is looked into, as apps do.
func (l List) without(value any, keys []string, name string) any {
	if len(keys) == 0 {
		switch list := value.(type) {
		case Object:
			if list = slices.DeleteFunc(slices.Clone(list), func(m Member) bool { return m.Key == name }); len(list) > 0 {
				return list
			}
		case []any:
			list = slices.DeleteFunc(slices.Clone(list), func(item any) bool {
				entry, ok := item.(Object)
				return ok && entry.Text("name") == name
			})
			if len(list) > 0 {
				return list
			}
		case nil:
		default:
			return value
		}
		return nil
	}
	object, ok := value.(Object)
	if !ok {
		return value
	}
	object = slices.Clone(object)
	for i, member := range slices.Backward(object) {
		if member.Key != keys[0] {
			continue
		}
		if object[i].Value = l.without(member.Value, keys[1:], name); object[i].Value == nil {
			object = slices.Delete(object, i, i+1)
		}
		break
	}
	if len(object) == 0 {
		return nil
	}
	return object
}

// asRead is an entry as it is read back: TOML knows no null and no order.
func (l List) asRead(name string, entry Object) Object {
	if l.Items {
		entry = append(Object{{"name", name}}, entry...)
	}
	if l.Format == TOML {
		return sorted(entry)
	}
	return entry
}

func named(servers []Server, name string) bool {
	return slices.ContainsFunc(servers, func(s Server) bool { return s.Name == name })
}

// lineBreak is how a file ends its lines.
func lineBreak(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// ended returns text that ends with a line break, or holds nothing.
func ended(data []byte) []byte {
	if len(data) == 0 || string(data) == byteOrderMark || data[len(data)-1] == '\n' {
		return slices.Clone(data)
	}
	return append(slices.Clone(data), lineBreak(data)...)
}

// splice is a piece of text to be put in the place of another.
type splice struct {
	from, to int
	text     string
}

// spliced applies splices, which must be in order and apart.
func spliced(data []byte, pieces ...splice) []byte {
	var out []byte
	at := 0
	for _, piece := range pieces {
		out = append(append(out, data[at:piece.from]...), piece.text...)
		at = piece.to
	}
	return append(out, data[at:]...)
}

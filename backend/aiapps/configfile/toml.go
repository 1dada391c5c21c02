package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

type tomlDocument struct {
	list  List
	data  []byte
	mark  int // bytes of the byte order mark
	tree  any
	parts []tomlPart
}

// tomlPart is a table's header or a key with its value, as it stands in the file.
type tomlPart struct {
	header   bool
	path     []string // from the top
	from, to int      // whole lines
	inline   int      // behind the bracket of an inline table that is the value; 0 for none
	children []tomlPart
}

func (l List) parseTOML(data []byte) (document, error) {
	d := &tomlDocument{list: l, data: data}
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		d.mark = len(byteOrderMark)
	}
	text := data[d.mark:]
	values := map[string]any{}
	if err := toml.Unmarshal(text, &values); err != nil {
		broken := &BrokenError{Problem: strings.TrimPrefix(err.Error(), "toml: ")}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			broken.Line, broken.Column = at.Position()
		}
		return nil, broken
	}
	if len(values) > 0 {
		d.tree = tomlTree(values)
	}
	return d, d.scan(text)
}

// scan notes where everything stands.
func (d *tomlDocument) scan(text []byte) error {
	parser := unstable.Parser{}
	parser.Reset(text)
	var table []string
	for parser.NextExpression() {
		node := parser.Expression()
		part := tomlPart{}
		var key unstable.Iterator
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			part.header = true
			key = node.Key()
		case unstable.KeyValue:
			part.path = slices.Clone(table)
			key = node.Key()
		default:
			continue
		}
		first, end := -1, 0
		for key.Next() {
			part.path = append(part.path, string(key.Node().Data))
			raw := key.Node().Raw
			if first < 0 {
				first = int(raw.Offset)
			}
			end = int(raw.Offset + raw.Length)
		}
		if part.header {
			table = part.path
		} else {
			end = int(node.Raw.Offset + node.Raw.Length)
			part.inline, part.children = d.inlineTable(node)
		}
		part.from = d.mark + bytes.LastIndexByte(text[:first], '\n') + 1
		part.to = len(d.data)
		if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
			part.to = d.mark + end + i + 1
		}
		d.parts = append(d.parts, part)
	}
	if err := parser.Error(); err != nil {
		return &BrokenError{Problem: err.Error()}
	}
	return nil
}

// inlineTable notes where the entries of an inline table stand; their ends are without the comma.
func (d *tomlDocument) inlineTable(node *unstable.Node) (int, []tomlPart) {
	value := node.Value()
	if value.Kind != unstable.InlineTable {
		return 0, nil
	}
	var children []tomlPart
	entries := value.Children()
	for entries.Next() {
		entry := entries.Node()
		child := tomlPart{from: d.mark + int(entry.Raw.Offset), to: d.mark + int(entry.Raw.Offset+entry.Raw.Length)}
		for key := entry.Key(); key.Next(); {
			child.path = append(child.path, string(key.Node().Data))
		}
		children = append(children, child)
	}
	return d.mark + int(value.Raw.Offset) + 1, children
}

func tomlTree(value any) any {
	switch v := value.(type) {
	case map[string]any:
		object := make(Object, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			object = append(object, Member{key, tomlTree(v[key])})
		}
		return object
	case []any:
		array := make([]any, 0, len(v))
		for _, element := range v {
			array = append(array, tomlTree(element))
		}
		return array
	case string, bool:
		return v
	case int64:
		return int(v)
	}
	return Raw(fmt.Sprint(value))
}

// sorted is an entry as tomlTree gives it.
func sorted(entry Object) Object {
	entry = slices.Clone(entry)
	slices.SortFunc(entry, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	for i, member := range entry {
		if object, ok := member.Value.(Object); ok {
			entry[i].Value = sorted(object)
		}
	}
	return entry
}

func (d *tomlDocument) root() any { return d.tree }

// own says whether a part belongs to the entry of this name.
func (d *tomlDocument) own(part tomlPart, name string) bool {
	path := append(slices.Clone(d.list.Keys), name)
	return len(part.path) >= len(path) && slices.Equal(part.path[:len(path)], path)
}

// inline returns the list where it is one inline table.
func (d *tomlDocument) inline() *tomlPart {
	for i, part := range d.parts {
		if part.inline > 0 && slices.Equal(part.path, d.list.Keys) {
			return &d.parts[i]
		}
	}
	return nil
}

func (d *tomlDocument) insert(name string, entry Object) [][]byte {
	newline := lineBreak(d.data)
	if list := d.inline(); list != nil {
		text := " " + tomlKey(name) + " = " + tomlValue(entry)
		if len(list.children) > 0 {
			text += ","
		} else {
			text += " "
		}
		to := list.inline
		if len(list.children) == 0 {
			for to < len(d.data) && d.data[to] == ' ' {
				to++
			}
		}
		return [][]byte{spliced(d.data, splice{list.inline, to, text})}
	}
	lines := d.table(name, entry, newline)
	tail := string(d.data[d.mark:])
	switch blank := newline + newline; {
	case strings.TrimSpace(tail) == "", strings.HasSuffix(tail, blank):
	case strings.HasSuffix(tail, newline):
		lines = newline + lines
	default: // the last line has no end, so ours has none
		lines = blank + strings.TrimSuffix(lines, newline)
	}
	return [][]byte{spliced(d.data, splice{len(d.data), len(d.data), lines})}
}

// table writes an entry as a table of its own.
func (d *tomlDocument) table(name string, entry Object, newline string) string {
	var keys []string
	for _, key := range append(slices.Clone(d.list.Keys), name) {
		keys = append(keys, tomlKey(key))
	}
	lines := "[" + strings.Join(keys, ".") + "]" + newline
	for _, member := range entry {
		lines += tomlKey(member.Key) + " = " + tomlValue(member.Value) + newline
	}
	return lines
}

func (d *tomlDocument) replace(name string, entry Object) [][]byte {
	var candidates [][]byte
	if pieces := d.pieces(name); len(pieces) > 0 { // where its first line was, if that begins a table
		pieces[0].text = d.table(name, entry, lineBreak(d.data))
		candidates = append(candidates, spliced(d.data, pieces...))
	}
	for _, without := range d.remove(name) {
		if doc, err := d.list.parse(without); err == nil {
			candidates = append(candidates, doc.insert(name, entry)...)
		}
	}
	return candidates
}

func (d *tomlDocument) remove(name string) [][]byte {
	if list := d.inline(); list != nil {
		var pieces []splice
		for _, child := range list.children {
			if child.path[0] != name {
				continue
			}
			from, to := child.from, child.to
			rest := string(d.data[to:])
			if trimmed := strings.TrimLeft(rest, " \t"); strings.HasPrefix(trimmed, ",") {
				to += len(rest) - len(strings.TrimLeft(trimmed[1:], " "))
			} else if front := strings.TrimRight(string(d.data[:from]), " \t"); strings.HasSuffix(front, ",") {
				from = len(front) - 1
			}
			pieces = append(pieces, splice{from, to, ""})
		}
		return [][]byte{spliced(d.data, pieces...)}
	}
	pieces := d.pieces(name)
	if len(pieces) == 0 {
		return nil
	}
	// The blank line above goes with a table at the end of the file.
	last := &pieces[len(pieces)-1]
	plain := spliced(d.data, pieces...)
	if strings.TrimSpace(string(d.data[last.to:])) != "" {
		return [][]byte{plain}
	}
	newline := lineBreak(d.data)
	trimmed := plain
	if ended := bytes.HasSuffix(d.data, []byte("\n")); ended && bytes.HasSuffix(plain, []byte(newline+newline)) {
		trimmed = bytes.TrimSuffix(plain, []byte(newline))
	} else if !ended {
		trimmed = bytes.TrimSuffix(bytes.TrimSuffix(plain, []byte(newline)), []byte(newline))
	}
	return [][]byte{trimmed, plain}
}

// pieces are the lines of the entry of this name, which may stand apart, as removed.
func (d *tomlDocument) pieces(name string) (all []splice) {
	for _, part := range d.parts {
		if d.own(part, name) {
			all = append(all, splice{part.from, part.to, ""})
		}
	}
	return all
}

var bareTOML = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareTOML.MatchString(key) {
		return key
	}
	return quote(key)
}

func tomlValue(value any) string {
	var parts []string
	switch v := value.(type) {
	case Object:
		for _, member := range v {
			parts = append(parts, tomlKey(member.Key)+" = "+tomlValue(member.Value))
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case []any:
		for _, element := range v {
			parts = append(parts, tomlValue(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return scalarText(value)
}

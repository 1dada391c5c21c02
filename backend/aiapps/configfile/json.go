package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth is how deep brackets may be nested; beyond it parsers, which call themselves, would need
// too much stack.
const maxDepth = 1000

type jsonDocument struct {
	list  List
	data  []byte       // all of it, with the byte order mark
	value hujson.Value // its offsets count from after the mark
	mark  int          // bytes of the byte order mark
	empty bool         // nothing but white space and comments
	tree  any
}

func (l List) parseJSON(data []byte) (document, error) {
	d := &jsonDocument{list: l, data: data}
	text := data
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		d.mark = len(byteOrderMark)
		text = data[d.mark:]
	}
	if at := tooDeep(text); at >= 0 {
		line, column := position(text, at)
		return nil, &BrokenError{line, column, "it is nested too deeply"}
	}
	parsed := text
	if l.Format == JSONC && !bytes.HasSuffix(text, []byte("\n")) {
		parsed = append(bytes.Clone(text), '\n') // a comment may end the file
	}
	var err error
	if d.value, err = hujson.Parse(parsed); err != nil {
		if nothing, emptyErr := hujson.Parse(append(bytes.Clone(text), "\n{}"...)); emptyErr == nil && (l.Format == JSONC || nothing.IsStandard()) {
			d.empty = true
			return d, nil
		}
		return nil, jsonBroken(text, err)
	}
	if l.Format == JSON && !d.value.IsStandard() {
		problem := jsonBroken(text, json.Unmarshal(text, new(any)))
		problem.Problem = "a comment, or a comma after the last entry, which this app's JSON does not have"
		return nil, problem
	}
	if d.tree = jsonTree(&d.value); d.tree == nil {
		return nil, &BrokenError{1, 1, "it holds null, and no map of settings"}
	}
	return d, nil
}

var linePattern = regexp.MustCompile(`^(?:hujson|yaml): line (\d+)(?:, column (\d+))?: (.*)`)

// jsonBroken makes a BrokenError of what a parser says.
func jsonBroken(text []byte, err error) *BrokenError {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line, column := position(text, int(syntax.Offset)-1)
		return &BrokenError{line, column, syntax.Error()}
	}
	return brokenAt(err)
}

// brokenAt reads the place out of a parser's sentence.
func brokenAt(err error) *BrokenError {
	said := linePattern.FindStringSubmatch(strings.Split(err.Error(), "\n")[0])
	if said == nil {
		return &BrokenError{Problem: strings.TrimPrefix(strings.TrimPrefix(err.Error(), "hujson: "), "yaml: ")}
	}
	line, _ := strconv.Atoi(said[1])
	column, _ := strconv.Atoi(said[2])
	return &BrokenError{line, column, said[3]}
}

// tooDeep returns where brackets are nested deeper than is sane, or -1.
func tooDeep(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/': // an apostrophe or quote in a comment is no string
			rest := text[i:]
			end := 0
			switch {
			case bytes.HasPrefix(rest, []byte("//")):
				end = bytes.IndexByte(rest, '\n')
			case bytes.HasPrefix(rest, []byte("/*")):
				end = bytes.Index(rest, []byte("*/"))
			}
			if end < 0 {
				return -1
			}
			i += end
		case '[', '{':
			if depth++; depth > maxDepth {
				return i
			}
		case ']', '}':
			depth--
		}
	}
	return -1
}

func jsonTree(v *hujson.Value) any {
	switch value := v.Value.(type) {
	case *hujson.Object:
		object := make(Object, 0, len(value.Members))
		for i := range value.Members {
			object = append(object, Member{literal(value.Members[i].Name), jsonTree(&value.Members[i].Value)})
		}
		return object
	case *hujson.Array:
		array := make([]any, 0, len(value.Elements))
		for i := range value.Elements {
			array = append(array, jsonTree(&value.Elements[i]))
		}
		return array
	case hujson.Literal:
		switch value.Kind() {
		case '"':
			return value.String()
		case 't', 'f':
			return value.Bool()
		case 'n':
			return nil
		}
		if n, err := strconv.Atoi(string(value)); err == nil && strconv.Itoa(n) == string(value) {
			return n
		}
		return Raw(value)
	}
	return nil
}

func literal(v hujson.Value) string {
	name, _ := v.Value.(hujson.Literal)
	return name.String()
}

func (d *jsonDocument) root() any {
	if d.empty {
		return nil
	}
	return d.tree
}

// find returns the value of a key in an object, the last where there are several, and its place; -1
// for none.
func find(object *hujson.Object, key string) (int, *hujson.Value) {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if literal(object.Members[i].Name) == key {
			return i, &object.Members[i].Value
		}
	}
	return -1, nil
}

// parent returns the object that holds the entry, or the one nearest to it that there is, and the
// keys that lead on from it.
func (d *jsonDocument) parent() (*hujson.Value, []string) {
	value := &d.value
	for i, key := range d.list.Keys {
		object, ok := value.Value.(*hujson.Object)
		if !ok {
			return value, d.list.Keys[i:]
		}
		at, next := find(object, key)
		if at < 0 {
			return value, d.list.Keys[i:]
		}
		if _, ok := next.Value.(*hujson.Object); !ok { // null
			return next, d.list.Keys[i+1:]
		}
		value = next
	}
	return value, nil
}

// jsonStyle is how a file is laid out.
type jsonStyle struct {
	newline string
	unit    string // of indentation
	colon   string
	comma   string
	oneLine bool
}

func (d *jsonDocument) style() jsonStyle {
	style := jsonStyle{newline: lineBreak(d.data), unit: "  ", colon: ": ", comma: ", "}
	root, ok := d.value.Value.(*hujson.Object)
	if d.empty || !ok || len(root.Members) == 0 {
		return style
	}
	style.oneLine = !bytes.ContainsRune(d.data[d.mark+d.value.StartOffset:d.mark+d.value.EndOffset], '\n')
	if style.oneLine && !bytes.Contains(d.data, []byte(`": `)) {
		style.colon, style.comma = ":", ","
	}
	first := string(root.Members[0].Name.BeforeExtra)
	if i := strings.LastIndexByte(first, '\n'); i >= 0 && strings.Trim(first[i+1:], " \t") == "" && len(first) > i+1 {
		style.unit = first[i+1:]
	}
	return style
}

// lineIndent is the white space at the start of the line of an offset.
func (d *jsonDocument) lineIndent(offset int) string {
	start := bytes.LastIndexByte(d.data[:offset], '\n') + 1
	if start < d.mark {
		start = d.mark
	}
	end := start
	for end < len(d.data) && (d.data[end] == ' ' || d.data[end] == '\t') {
		end++
	}
	return string(d.data[start:end])
}

func (d *jsonDocument) insert(name string, entry Object) [][]byte {
	style := d.style()
	if d.empty {
		text := jsonText(nest(d.list.Keys, name, entry), "", style) + style.newline
		return [][]byte{append(ended(d.data), text...)}
	}
	holder, missing := d.parent()
	start, end := d.mark+holder.StartOffset, d.mark+holder.EndOffset
	key, value := name, any(entry)
	if len(missing) > 0 {
		key, value = missing[0], nest(missing[1:], name, entry)
	}
	object, ok := holder.Value.(*hujson.Object)
	if !ok { // null
		return [][]byte{spliced(d.data, splice{start, end, jsonText(Object{{key, value}}, d.lineIndent(start), style)})}
	}
	style.oneLine = !bytes.ContainsRune(d.data[start:end], '\n') && (len(object.Members) > 0 || style.oneLine)
	indent := d.lineIndent(start) + style.unit
	if n := len(object.Members); n > 0 {
		nameAt := d.mark + object.Members[n-1].Name.StartOffset
		if own := d.lineIndent(nameAt); nameAt >= len(own) && strings.HasSuffix(string(d.data[:nameAt]), "\n"+own) {
			indent = own
		}
	}
	before, comma := style.newline+indent, ","
	if style.oneLine {
		before = strings.TrimPrefix(style.comma, ",")
	}
	member := quote(key) + style.colon + jsonText(value, indent, style)
	closing := end - 1 // the bracket
	if len(object.Members) == 0 {
		inside := strings.TrimRight(string(d.data[start+1:closing]), " \t\r\n")
		if inside != "" { // comments
			return [][]byte{spliced(d.data, splice{start + 1 + len(inside), start + 1 + len(inside), style.newline + indent + member})}
		}
		if style.oneLine {
			return [][]byte{spliced(d.data, splice{start + 1, closing, member})}
		}
		return [][]byte{spliced(d.data, splice{start + 1, closing, style.newline + indent + member + style.newline + d.lineIndent(start)})}
	}
	// A comment after the last entry stays with it.
	last := object.Members[len(object.Members)-1].Value
	lastEnd := d.mark + last.EndOffset
	if last.AfterExtra != nil { // a comma follows it, and then also us
		tail := lastEnd + len(last.AfterExtra) + 1
		at := tail + len(strings.TrimRight(string(d.data[tail:closing]), " \t\r\n"))
		return [][]byte{spliced(d.data, splice{at, at, before + member + comma})}
	}
	at := lastEnd + len(strings.TrimRight(string(d.data[lastEnd:closing]), " \t\r\n"))
	return [][]byte{spliced(d.data, splice{lastEnd, lastEnd, comma}, splice{at, at, before + member})}
}

// nest wraps an entry in the maps that lead to it.
func nest(keys []string, name string, entry Object) Object {
	nested := Object{{name, entry}}
	for i := len(keys) - 1; i >= 0; i-- {
		nested = Object{{keys[i], nested}}
	}
	return nested
}

// Text writes a value as one line of JSON.
func Text(value any) string {
	return jsonText(value, "", jsonStyle{oneLine: true, colon: ": ", comma: ", "})
}

// jsonText writes a value whose line is indented so.
func jsonText(value any, indent string, style jsonStyle) string {
	switch v := value.(type) {
	case Object:
		if len(v) == 0 {
			return "{}"
		}
		var out strings.Builder
		out.WriteByte('{')
		for i, member := range v {
			switch {
			case !style.oneLine && i > 0:
				out.WriteString("," + style.newline + indent + style.unit)
			case !style.oneLine:
				out.WriteString(style.newline + indent + style.unit)
			case i > 0:
				out.WriteString(style.comma)
			}
			out.WriteString(quote(member.Key) + style.colon + jsonText(member.Value, indent+style.unit, style))
		}
		if !style.oneLine {
			out.WriteString(style.newline + indent)
		}
		out.WriteByte('}')
		return out.String()
	case []any:
		var elements []string
		inner := style
		inner.oneLine = true
		for _, element := range v {
			elements = append(elements, jsonText(element, indent, inner))
		}
		return "[" + strings.Join(elements, style.comma) + "]"
	}
	return scalarText(value)
}

// scalarText writes what is neither map nor array, as JSON, YAML and TOML alike.
func scalarText(value any) string {
	switch v := value.(type) {
	case string:
		return quote(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case Raw:
		return string(v)
	}
	return "null"
}

// entry returns the object that holds the entry, and its place in it; nil where there is none.
func (d *jsonDocument) entry(name string) (*hujson.Value, *hujson.Object, int) {
	holder, missing := d.parent()
	object, ok := holder.Value.(*hujson.Object)
	if !ok || len(missing) > 0 {
		return nil, nil, -1
	}
	at, _ := find(object, name)
	return holder, object, at
}

func (d *jsonDocument) replace(name string, entry Object) [][]byte {
	_, object, at := d.entry(name)
	if at < 0 {
		return nil
	}
	style := d.style()
	value := object.Members[at].Value
	start, end := d.mark+value.StartOffset, d.mark+value.EndOffset
	style.oneLine = style.oneLine || !bytes.ContainsRune(d.data[start:end], '\n') && string(d.data[start:end]) != "{}"
	return [][]byte{spliced(d.data, splice{start, end, jsonText(entry, d.lineIndent(d.mark+object.Members[at].Name.StartOffset), style)})}
}

func (d *jsonDocument) remove(name string) [][]byte {
	holder, object, at := d.entry(name)
	if at < 0 {
		return nil
	}
	value := object.Members[at].Value
	from, to := d.mark+object.Members[at].Name.StartOffset, d.mark+value.EndOffset
	if len(object.Members) == 1 && strings.TrimSpace(string(d.data[d.mark+holder.StartOffset+1:from])) == "" {
		if after := string(d.data[to : d.mark+holder.EndOffset-1]); strings.Trim(after, ", \t\r\n") == "" {
			return [][]byte{spliced(d.data, splice{d.mark + holder.StartOffset, d.mark + holder.EndOffset, "{}"})}
		}
	}
	var ahead []splice
	if at < len(object.Members)-1 || value.AfterExtra != nil {
		to += len(value.AfterExtra) + 1 // the comma
	} else if at > 0 {
		before := object.Members[at-1].Value
		comma := d.mark + before.EndOffset + len(before.AfterExtra)
		ahead = []splice{{comma, comma + 1, ""}}
	}
	cut := func(from, to int) []byte {
		return spliced(d.data, append(ahead[:len(ahead):len(ahead)], splice{from, to, ""})...)
	}
	// White space goes with it: what is in front, else, where a comment ends there, what is behind.
	front := from
	least := d.mark + holder.StartOffset + 1
	if len(ahead) > 0 {
		least = ahead[0].to
	}
	for front > least && strings.ContainsRune(" \t\r\n", rune(d.data[front-1])) {
		front--
	}
	behind := to
	for behind < len(d.data) && strings.ContainsRune(" \t\r\n", rune(d.data[behind])) {
		behind++
	}
	if front == from && len(ahead) == 0 {
		return [][]byte{cut(from, behind), cut(from, to)}
	}
	return [][]byte{cut(front, to), cut(from, behind), cut(from, to)}
}

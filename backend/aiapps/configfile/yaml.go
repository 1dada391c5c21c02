package configfile

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

type yamlDocument struct {
	list  List
	data  []byte
	mark  int   // bytes of the byte order mark
	lines []int // where each line starts, as YAML counts lines
	node  *yaml.Node
	tree  any
}

var errTwoDocuments = &BrokenError{Problem: "it holds more than one YAML document"}

func (l List) parseYAML(data []byte) (document, error) {
	d := &yamlDocument{list: l, data: data}
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		d.mark = len(byteOrderMark)
	}
	d.lines = yamlLines(data, d.mark)
	// What programs read says more than the tree of nodes: a key that is there twice is an error.
	if err := yaml.Unmarshal(data[d.mark:], new(any)); err != nil {
		return nil, yamlBroken(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data[d.mark:]))
	var node, second yaml.Node
	switch err := decoder.Decode(&node); {
	case errors.Is(err, io.EOF):
		return d, nil
	case err != nil:
		return nil, yamlBroken(err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlBroken(err)
		}
		return nil, errTwoDocuments
	}
	if len(node.Content) == 1 {
		d.node = node.Content[0]
		d.tree = yamlTree(d.node)
	}
	return d, nil
}

var yamlPlace = regexp.MustCompile(`line (\d+): (.*)`)

// yamlBroken makes a BrokenError of what the parser says, which may be a list of several.
func yamlBroken(err error) error {
	var several *yaml.TypeError
	if errors.As(err, &several) && len(several.Errors) > 0 {
		return brokenAt(errors.New("yaml: " + several.Errors[0]))
	}
	if said := yamlPlace.FindString(err.Error()); said != "" {
		return brokenAt(errors.New("yaml: " + said))
	}
	return brokenAt(err)
}

// yamlLines finds the lines as YAML's parser counts them.
func yamlLines(data []byte, from int) []int {
	lines := []int{from}
	for i := from; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		i += size
		switch r {
		case '\r':
			if i < len(data) && data[i] == '\n' {
				i++
			}
			lines = append(lines, i)
		case '\n', 0x85, 0x2028, 0x2029:
			lines = append(lines, i)
		}
	}
	return lines
}

func yamlTree(node *yaml.Node) any {
	switch node.Kind {
	case yaml.MappingNode:
		object := make(Object, 0, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			if node.Content[i].Kind != yaml.ScalarNode {
				key = canonical(yamlTree(node.Content[i]))
			}
			object = append(object, Member{key, yamlTree(node.Content[i+1])})
		}
		return object
	case yaml.SequenceNode:
		array := make([]any, 0, len(node.Content))
		for _, element := range node.Content {
			array = append(array, yamlTree(element))
		}
		return array
	case yaml.AliasNode: // the parser has refused those that do not end, or make far too much of little
		return yamlTree(node.Alias)
	}
	switch node.ShortTag() {
	case "!!str":
		return node.Value
	case "!!null":
		return nil
	case "!!bool":
		var value bool
		if node.Decode(&value) == nil {
			return value
		}
	case "!!int":
		var value int
		if node.Decode(&value) == nil && scalarText(value) == node.Value {
			return value
		}
	}
	return Raw(node.ShortTag() + " " + node.Value)
}

func (d *yamlDocument) root() any { return d.tree }

// offset is where a node starts.
func (d *yamlDocument) offset(node *yaml.Node) int {
	at := d.lineStart(node.Line)
	for range node.Column - 1 {
		_, size := utf8.DecodeRune(d.data[at:])
		at += size
	}
	return at
}

// lineStart is where a line starts, counted from 1; the file's end for one after the last.
func (d *yamlDocument) lineStart(line int) int {
	if line > len(d.lines) {
		return len(d.data)
	}
	return d.lines[line-1]
}

func (d *yamlDocument) key() string { return d.list.Keys[0] }

// holder returns the nodes of the list's key and value; nil where there is none.
func (d *yamlDocument) holder() (key, value *yaml.Node) {
	if d.node == nil || d.node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(d.node.Content); i += 2 {
		if d.node.Content[i].Value == d.key() {
			return d.node.Content[i], d.node.Content[i+1]
		}
	}
	return nil, nil
}

// shares says whether the list, or the entry of this name in it, stands for something elsewhere, or
// something elsewhere for it.
func (d *yamlDocument) shares(name string) bool {
	_, list := d.holder()
	if list == nil {
		return false
	}
	if list.Kind == yaml.AliasNode || list.Anchor != "" {
		return true
	}
	_, key, value, _ := d.place(name)
	return key != nil && (hasAnchors(key) || hasAnchors(value))
}

func hasAnchors(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || node.Anchor != "" || slices.ContainsFunc(node.Content, hasAnchors)
}

func (d *yamlDocument) insert(name string, entry Object) [][]byte {
	newline := lineBreak(d.data)
	key, value := d.holder()
	switch {
	case d.node != nil && d.node.Kind != yaml.MappingNode: // null
		return nil
	case d.node == nil || key == nil && d.node.Style&yaml.FlowStyle == 0:
		indent := 0
		if d.node != nil && len(d.node.Content) > 0 {
			indent = d.node.Content[0].Column - 1
		}
		text := d.block(Object{{d.key(), d.inList(name, entry)}}, indent, newline)
		if d.node == nil {
			return [][]byte{d.appended(text)}
		}
		at := d.lineStart(d.node.Content[0].Line)
		return [][]byte{d.appended(text), spliced(d.data, splice{at, at, text})}
	case key == nil:
		return [][]byte{d.intoFlow(d.node, quoteIfNeeded(d.key())+": "+d.flow(d.inList(name, entry)))}
	case len(value.Content) > 0 && value.Style&yaml.FlowStyle == 0:
		first := d.lineStart(value.Content[0].Line)
		indent := value.Content[0].Column - 1
		if d.list.Items {
			indent = bytes.IndexByte(d.data[first:], '-')
		}
		text := d.items(name, entry, indent, newline)
		return [][]byte{d.below(key, text), spliced(d.data, splice{first, first, text})}
	case len(value.Content) > 0:
		return [][]byte{d.intoFlow(value, d.flowItem(name, entry))}
	}
	// The list is empty: {}, [], null, ~ or nothing at all.
	from := d.offset(value)
	to := from
	if value.Kind == yaml.ScalarNode {
		to += len(value.Value)
	} else if to = d.flowEnd(from); to < 0 {
		return nil
	}
	for from > 0 && d.data[from-1] == ' ' && to > from {
		from--
	}
	text := d.items(name, entry, key.Column-1+2, newline)
	next := d.lineStart(key.Line + 1)
	if next < to { // it goes over several lines
		return [][]byte{d.intoFlow(value, d.flowItem(name, entry))}
	}
	candidates := [][]byte{spliced(d.data, splice{from, to, ""}, d.asLine(next, text))}
	if value.Kind != yaml.ScalarNode {
		candidates = append(candidates, d.intoFlow(value, d.flowItem(name, entry)))
	}
	return candidates
}

// inList is the list's value with this entry alone.
func (d *yamlDocument) inList(name string, entry Object) any {
	if d.list.Items {
		return []any{append(Object{{"name", name}}, entry...)}
	}
	return Object{{name, entry}}
}

// asLine puts lines at the start of a line, or after the last one where that has no end; then they
// have none either.
func (d *yamlDocument) asLine(at int, text string) splice {
	if at == len(d.data) && at > d.mark && !d.endsLine() {
		newline := lineBreak(d.data)
		text = newline + strings.TrimSuffix(text, newline)
	}
	return splice{at, at, text}
}

func (d *yamlDocument) endsLine() bool { return d.lines[len(d.lines)-1] == len(d.data) }

func (d *yamlDocument) appended(text string) []byte {
	return spliced(d.data, d.asLine(len(d.data), text))
}

// below puts lines under the line of a key.
func (d *yamlDocument) below(key *yaml.Node, text string) []byte {
	return spliced(d.data, d.asLine(d.lineStart(key.Line+1), text))
}

// items writes the entry as lines of the list.
func (d *yamlDocument) items(name string, entry Object, indent int, newline string) string {
	return d.block(d.inList(name, entry), indent, newline)
}

// block writes a map or an array as lines.
func (d *yamlDocument) block(value any, indent int, newline string) string {
	var out strings.Builder
	pad := strings.Repeat(" ", max(indent, 0))
	below := func(value any, more int) {
		switch v := value.(type) {
		case Object:
			if len(v) > 0 {
				out.WriteString(newline + d.block(v, indent+more, newline))
				return
			}
		case []any:
			if len(v) > 0 {
				out.WriteString(newline + d.block(v, indent+more, newline))
				return
			}
		}
		out.WriteString(" " + d.flow(value) + newline)
	}
	switch v := value.(type) {
	case Object:
		for _, member := range v {
			out.WriteString(pad + quoteIfNeeded(member.Key) + ":")
			below(member.Value, 2)
		}
	case []any:
		for _, element := range v {
			if object, ok := element.(Object); ok && len(object) > 0 {
				lines := d.block(object, indent+2, newline)
				out.WriteString(pad + "- " + strings.TrimPrefix(lines, pad+"  "))
				continue
			}
			out.WriteString(pad + "-")
			below(element, 2)
		}
	}
	return out.String()
}

// flow writes a value on one line.
func (d *yamlDocument) flow(value any) string {
	var parts []string
	switch v := value.(type) {
	case Object:
		for _, member := range v {
			parts = append(parts, quoteIfNeeded(member.Key)+": "+d.flow(member.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, element := range v {
			parts = append(parts, d.flow(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return quoteIfNeeded(v)
	case Raw:
		return strings.TrimPrefix(strings.TrimPrefix(string(v), "!!float "), "!!int ")
	}
	return scalarText(value)
}

func (d *yamlDocument) flowItem(name string, entry Object) string {
	if d.list.Items {
		return d.flow(append(Object{{"name", name}}, entry...))
	}
	return quoteIfNeeded(name) + ": " + d.flow(entry)
}

// intoFlow puts text behind the bracket that a map or array starts with.
func (d *yamlDocument) intoFlow(node *yaml.Node, text string) []byte {
	at := d.offset(node)
	open := bytes.IndexAny(d.data[at:], "{[") // behind an anchor or a tag
	if open < 0 {
		return d.data
	}
	at += open + 1
	if len(node.Content) > 0 {
		text += ", "
	}
	return spliced(d.data, splice{at, at, text})
}

// flowEnd is where the map or array in brackets that starts at an offset ends, or -1.
func (d *yamlDocument) flowEnd(from int) int {
	depth := 0
	for i := from; i < len(d.data); i++ {
		switch c := d.data[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			for i++; i < len(d.data) && d.data[i] != '"'; i++ {
				if d.data[i] == '\\' {
					i++
				}
			}
		case '\'':
			for i++; i < len(d.data) && d.data[i] != '\''; i++ {
			}
		case '#':
			if i > 0 && strings.ContainsRune(" \t\r\n", rune(d.data[i-1])) {
				for i++; i < len(d.data) && d.data[i] != '\n'; i++ {
				}
			}
		}
	}
	return -1
}

var plainYAML = regexp.MustCompile(`^[A-Za-z/_][A-Za-z0-9/_.-]*$`)

// quoteIfNeeded leaves words as they are that no YAML reads as anything but text.
func quoteIfNeeded(text string) string {
	if plainYAML.MatchString(text) && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text)) {
		return text
	}
	return quote(text)
}

// place returns the nodes of an entry (in an array the item is both), and its number in the list's
// value.
func (d *yamlDocument) place(name string) (list, key, value *yaml.Node, at int) {
	_, list = d.holder()
	if list == nil {
		return nil, nil, nil, -1
	}
	if d.list.Items {
		for i, item := range list.Content {
			if entry, ok := yamlTree(item).(Object); ok && entry.Text("name") == name {
				return list, item, item, i
			}
		}
		return nil, nil, nil, -1
	}
	for i := 0; i+1 < len(list.Content); i += 2 {
		if list.Content[i].Value == name {
			return list, list.Content[i], list.Content[i+1], i
		}
	}
	return nil, nil, nil, -1
}

// extent is the lines of an entry of a block, without blank lines and comments behind it.
func (d *yamlDocument) extent(list, key *yaml.Node, at int) (from, to int) {
	step := 2
	if d.list.Items {
		step = 1
	}
	indent := key.Column - 1
	if d.list.Items {
		indent = bytes.IndexByte(d.data[d.lineStart(key.Line):], '-')
	}
	last := key.Line + 1 // the first line behind it
	if at+step < len(list.Content) {
		last = list.Content[at+step].Line
	} else {
		for last <= len(d.lines) && !d.endsBlock(last, indent) {
			last++
		}
	}
	for last > key.Line+1 && d.isBlank(last-1) {
		last--
	}
	return d.lineStart(key.Line), d.lineStart(last)
}

func (d *yamlDocument) line(n int) string {
	return string(d.data[d.lineStart(n):d.lineStart(n+1)])
}

func (d *yamlDocument) isBlank(n int) bool {
	text := strings.TrimSpace(d.line(n))
	return text == "" || text[0] == '#'
}

func (d *yamlDocument) endsBlock(n, indent int) bool {
	text := d.line(n)
	return !d.isBlank(n) && len(text)-len(strings.TrimLeft(text, " ")) <= indent
}

func (d *yamlDocument) replace(name string, entry Object) [][]byte {
	list, key, value, at := d.place(name)
	if key == nil {
		return nil
	}
	if list.Style&yaml.FlowStyle != 0 {
		from, to := d.offset(key), d.flowEnd(d.offset(value))
		if to < 0 {
			return nil
		}
		return [][]byte{spliced(d.data, splice{from, to, d.flowItem(name, entry)})}
	}
	from, to := d.extent(list, key, at)
	newline := lineBreak(d.data)
	indent := key.Column - 1
	if d.list.Items {
		indent = bytes.IndexByte(d.data[from:], '-')
	}
	text := d.items(name, entry, indent, newline)
	if to == len(d.data) && !d.endsLine() {
		text = strings.TrimSuffix(text, newline)
	}
	return [][]byte{spliced(d.data, splice{from, to, text})}
}

func (d *yamlDocument) remove(name string) [][]byte {
	list, key, value, at := d.place(name)
	if key == nil {
		return nil
	}
	if list.Style&yaml.FlowStyle != 0 {
		from, to := d.offset(key), d.flowEnd(d.offset(value))
		if to < 0 {
			return nil
		}
		rest := string(d.data[to:])
		if trimmed := strings.TrimLeft(rest, " \t\r\n"); strings.HasPrefix(trimmed, ",") {
			to += len(rest) - len(strings.TrimLeft(trimmed[1:], " "))
		} else if front := strings.TrimRight(string(d.data[:from]), " \t\r\n"); strings.HasSuffix(front, ",") {
			from = len(front) - 1
		}
		return [][]byte{spliced(d.data, splice{from, to, ""})}
	}
	from, to := d.extent(list, key, at)
	if to == len(d.data) && !d.endsLine() { // the line before becomes the last, and has no end either
		from = len(strings.TrimSuffix(strings.TrimSuffix(string(d.data[:from]), "\n"), "\r"))
	}
	pieces := []splice{{from, to, ""}}
	if len(list.Content) <= 2 && (!d.list.Items || len(list.Content) == 1) {
		// Where nothing is left, an empty list is: apps do not take null for one.
		holder, _ := d.holder()
		colon := d.offset(holder) + len(holder.Value)
		if holder.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			colon += 2
		}
		if i := bytes.IndexByte(d.data[min(colon, from):from], ':'); i >= 0 {
			colon += i + 1
			empty := " {}"
			if d.list.Items {
				empty = " []"
			}
			pieces = []splice{{colon, colon, empty}, pieces[0]}
		}
	}
	return [][]byte{spliced(d.data, pieces...)}
}

package configfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Object is a map that keeps its order. Its values are strings, bools, ints, nil, []any, Objects,
// and for what has no such form (floats, dates) Raw.
type Object []Member

// Member is one key of an Object.
type Member struct {
	Key   string
	Value any
}

// Raw is a value as its file writes it.
type Raw string

// Get returns the value of a key, the last where there are several; ok tells absent from null.
func (o Object) Get(key string) (value any, ok bool) {
	for _, member := range slices.Backward(o) {
		if member.Key == key {
			return member.Value, true
		}
	}
	return nil, false
}

// Text returns a string by its key, or "".
func (o Object) Text(key string) string {
	value, _ := o.Get(key)
	text, _ := value.(string)
	return text
}

// Texts returns an array of strings by its key; what is no string in it is left out.
func (o Object) Texts(key string) []string {
	value, _ := o.Get(key)
	array, _ := value.([]any)
	var texts []string
	for _, element := range array {
		if text, ok := element.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// Equal says whether two values are the same, order included.
func Equal(a, b any) bool { return canonical(a) == canonical(b) }

// canonical writes a value so that different values give different text.
func canonical(value any) string {
	var out strings.Builder
	writeCanonical(&out, value)
	return out.String()
}

func writeCanonical(out *strings.Builder, value any) {
	switch v := value.(type) {
	case Object:
		out.WriteByte('{')
		for _, member := range v {
			out.WriteString(quote(member.Key))
			out.WriteByte(':')
			writeCanonical(out, member.Value)
			out.WriteByte(',')
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for _, element := range v {
			writeCanonical(out, element)
			out.WriteByte(',')
		}
		out.WriteByte(']')
	case string:
		out.WriteString(quote(v))
	case Raw:
		out.WriteByte('`')
		out.WriteString(string(v))
		out.WriteByte('`')
	default:
		fmt.Fprint(out, v)
	}
}

// quote writes a string as JSON does, which YAML and TOML read too.
func quote(text string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can always be encoded
	return strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\x7f", `\u007f`)
}

package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	_ "embed"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/complaint"
)

// wireSpec describes requests of the ForeverVM wire, as api/openapi.yaml does those of our own API.
//
//go:embed wire.yaml
var wireSpec []byte

// described is what a request of one route may hold.
type described struct {
	parameters []parameter // of the query
	body       schema      // nil where there is none, or it is no JSON
	mustBody   bool
}

// parameter is one of the query.
type parameter struct {
	name     string
	required bool
	many     bool
	kind     string // of each of its values
	schema   schema // of each of its values
}

// schema is compiled when it is first asked for.
type schema func() *jsonschema.Schema

// descriptions are all routes that are described, by their patterns. What a request holds is
// checked against them, so that nothing is taken that the description rules out.
var descriptions = sync.OnceValue(func() map[string]described {
	all := map[string]described{}
	for _, text := range [][]byte{api.Spec, wireSpec} {
		d := document{compiler: jsonschema.NewCompiler()}
		if err := d.read(text); err != nil {
			panic(fmt.Errorf("the description of the API: %w", err)) // it is part of the program
		}
		d.describe(all)
	}
	return all
})

// document is an OpenAPI document.
type document struct {
	root     any
	mu       sync.Mutex // guards what follows
	compiler *jsonschema.Compiler
}

func (d *document) read(text []byte) error {
	if err := yaml.Unmarshal(text, &d.root); err != nil {
		return err
	}
	encoded, err := json.Marshal(d.root)
	if err != nil {
		return err
	}
	if d.root, err = jsonschema.UnmarshalJSON(bytes.NewReader(encoded)); err != nil {
		return err
	}
	return d.compiler.AddResource("spec.json", d.root)
}

// schema is what stands at a place of the document.
func (d *document) schema(place string) schema {
	return sync.OnceValue(func() *jsonschema.Schema {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.compiler.MustCompile("spec.json" + place)
	})
}

// in is what an object holds under keys within one another.
func in(value any, keys ...string) any {
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// describe adds what the document says.
func (d *document) describe(all map[string]described) {
	paths, _ := in(d.root, "paths").(map[string]any)
	for path, item := range paths {
		place := "#/paths/" + pointer(path)
		common := d.parameters(in(item, "parameters"), place)
		operations, _ := item.(map[string]any)
		for method, operation := range operations {
			if method == "parameters" {
				continue
			}
			place := place + "/" + method
			one := described{parameters: append(d.parameters(in(operation, "parameters"), place), common...)}
			if in(operation, "requestBody", "content", "application/json") != nil {
				one.mustBody = in(operation, "requestBody", "required") == true
				one.body = d.schema(place + "/requestBody/content/application~1json/schema")
			}
			all[strings.ToUpper(method)+" "+path] = one
		}
	}
}

// parameters are those of the query in a list at a place.
func (d *document) parameters(list any, place string) (all []parameter) {
	items, _ := list.([]any)
	for n, item := range items {
		place := fmt.Sprintf("%s/parameters/%d", place, n)
		if ref, ok := in(item, "$ref").(string); ok {
			place, item = ref, in(d.root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
		if in(item, "in") != "query" {
			continue
		}
		place += "/schema"
		p := parameter{required: in(item, "required") == true}
		p.name, _ = in(item, "name").(string)
		p.kind, _ = in(item, "schema", "type").(string)
		if p.many = p.kind == "array"; p.many {
			p.kind, _ = in(item, "schema", "items", "type").(string)
			place += "/items"
		}
		p.schema = d.schema(place)
		all = append(all, p)
	}
	return all
}

// pointer is a name in a JSON pointer, within a URL.
func pointer(name string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
}

// checkQuery says what is wrong with the parameters of a request. An empty one is as good as none.
func checkQuery(r *http.Request) error {
	query := r.URL.Query()
	for _, p := range descriptions()[r.Pattern].parameters {
		if p.required && query.Get(p.name) == "" {
			return invalid("The parameter %s is missing.", p.name)
		}
		for _, text := range query[p.name] {
			if text == "" && !p.many {
				continue
			}
			if err := p.schema().Validate(p.value(text)); err != nil {
				return invalid("The parameter %s is wrong: %s.", p.name, complaint.Of(err))
			}
		}
	}
	return nil
}

// value is a text as what its parameter should be, where it can be that.
func (p parameter) value(text string) any {
	if p.kind == "string" || p.kind == "" {
		return text
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return text
	}
	return value
}

// readJSON reads a body that is as described into v. One that may be empty, and is, leaves v as it
// is.
func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	return readAs(descriptions()[r.Pattern].body, w, r, v)
}

// readAs reads a body once it has checked it against a schema. A nil schema checks nothing.
func readAs(as schema, w http.ResponseWriter, r *http.Request, v any) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return jsonProblem(err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		if descriptions()[r.Pattern].mustBody {
			return invalid("The request has no body, and needs one: an object in JSON.")
		}
		return nil
	}
	if err := checkJSON(as, data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return jsonProblem(err)
	}
	return nil
}

// checkJSON says what is wrong with a body, or a message.
func checkJSON(as schema, data []byte) error {
	if !utf8.Valid(data) {
		return invalid("The request is not valid UTF-8 text, so it is not JSON.")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return jsonProblem(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return invalid("The request's body holds more than one JSON value.")
	}
	if as == nil {
		return nil
	}
	if err := as().Validate(value); err != nil {
		return invalid("The request is wrong: %s.", complaint.Of(err))
	}
	return nil
}

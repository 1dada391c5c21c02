package complaint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/forevervm/desktop/backend/complaint"
)

func TestOf(t *testing.T) {
	const schema = `{"type": "object", "required": ["code"], "properties": {
		"code": {"type": "string"}, "limit": {"type": "integer", "minimum": 1},
		"form": {"enum": ["png", "svg"]}, "all": {"type": "array", "maxItems": 1}}}`
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("it", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("it")
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`1`:                          "it must be object, not number",
		`{}`:                         "code is missing",
		`{"code": 1}`:                "code must be string, not number",
		`{"code": "", "limit": 0}`:   "limit must be 1 or more",
		`{"code": "", "form": "x"}`:  "form must be one of png, svg",
		`{"code": "", "all": [1,2]}`: "all may have at most 1 items",
	} {
		given, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
		if err != nil {
			t.Fatal(err)
		}
		if got := complaint.Of(compiled.Validate(given)); got != want {
			t.Errorf("of %s: %q, want %q", value, got, want)
		}
	}
	if got := complaint.Of(errors.New("something else")); got != "something else" {
		t.Error(got)
	}
}

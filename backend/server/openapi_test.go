package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/forevervm/desktop/backend/api"
)

// loadSpec reads the API's description, which must itself be right.
func loadSpec(t *testing.T) *openapi3.T {
	t.Helper()
	spec, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return spec
}

// Every call that is served is described, and the other way round.
func TestRoutesAreTheDescribedOnes(t *testing.T) {
	var described []string
	for path, item := range loadSpec(t).Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	var served []string
	for _, route := range New(Config{Machines: closed{}, Token: testToken}).routes() {
		method, path, ok := strings.Cut(route.pattern, " ")
		if ok && !strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/internal/") {
			served = append(served, method+" "+path)
		}
	}
	for _, call := range served {
		if !slices.Contains(described, call) {
			t.Errorf("%s is served but not described", call)
		}
	}
	for _, call := range described {
		if !slices.Contains(served, call) {
			t.Errorf("%s is described but not served", call)
		}
	}
}

// What needs no token in the description needs none in the server.
func TestOpenRoutesAreTheDescribedOnes(t *testing.T) {
	spec := loadSpec(t)
	for _, route := range New(Config{Machines: closed{}, Token: testToken}).routes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		item := spec.Paths.Value(path)
		if item == nil {
			continue
		}
		operation := item.GetOperation(method)
		open := operation.Security != nil && len(*operation.Security) == 0
		if open != route.open {
			t.Errorf("%s: open %v, described as open %v", route.pattern, route.open, open)
		}
	}
}

// What requests are checked against is there for each route that is described, and can be used.
func TestDescriptionsCompile(t *testing.T) {
	all := descriptions()
	for path, item := range loadSpec(t).Paths.Map() {
		for method, operation := range item.Operations() {
			one, ok := all[method+" "+path]
			hasBody := operation.RequestBody != nil && operation.RequestBody.Value.Content["application/json"] != nil
			if !ok || hasBody != (one.body != nil) {
				t.Errorf("%s %s: %v", method, path, one)
			}
		}
	}
	for _, one := range all {
		for _, p := range one.parameters {
			p.schema()
		}
		if one.body != nil {
			one.body()
		}
	}
	if all[execMessage].body == nil {
		t.Error("what is sent on a socket is not described")
	}
}

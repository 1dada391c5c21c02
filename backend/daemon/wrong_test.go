//go:build real

package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/wire"
)

// rightBodies are bodies with every field that must be there, by operation. Only with one of them
// made wrong are they sent.
var rightBodies = map[string]map[string]any{
	"hostedUse":        {"server": "https://x.invalid", "account": "a"},
	"hostedSignup":     {"email": "a@x.invalid", "account": "abc"},
	"redeemOpenCode":   {"code": "x"},
	"restoreApp":       {"backup": "x"},
	"rewindMachine":    {"checkpoint": "x"},
	"renameBranch":     {"name": "x"},
	"execute":          {"code": "1"},
	"install":          {"packages": []any{"numpy"}},
	"complete":         {"code": "x", "cursor": 0},
	"inspect":          {"code": "x", "cursor": 0},
	"shareFolder":      {"path": "/"},
	"answerConnection": {"answer": "deny"},
	"readTable":        {"variable": "x"},
}

// rightNested are objects within bodies, by field.
var rightNested = map[string]map[string]any{
	"sort":    {"column": 0},
	"filters": {"column": 0, "test": "eq", "value": "1"},
}

// wrong is a request that makes no sense.
type wrong struct{ what, method, path, body string }

// What makes no sense is refused with a sentence, whatever it is, and nothing comes of it.
func TestNonsenseIsRefused(t *testing.T) {
	d := sharedDaemon(t)
	c := newCaller(t, d)
	name := c.machine()
	c.run(name, "x = 1")
	spec, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range spec.Paths.Map() {
		for method, operation := range item.Operations() {
			t.Run(operation.OperationID, func(t *testing.T) {
				name := name
				if method == http.MethodDelete { // what is taken must not trouble the others
					name = newCaller(t, d).machine()
				}
				all := wrongRequests(method, path, item, operation, name)
				if len(all) > 0 {
					refused(t, d, name, all)
				}
			})
		}
	}
	t.Run("values", func(t *testing.T) { refused(t, d, name, wrongInDescribedForms(name)) })
	t.Run("wire", func(t *testing.T) { refused(t, d, name, wrongOnTheWire(name)) })
	t.Run("socket", func(t *testing.T) { wrongMessages(t, d, name) })
}

// refused sends requests, each of which must be refused, and looks whether anything has changed.
func refused(t *testing.T, d *running, name string, all []wrong) {
	t.Helper()
	c := newCaller(t, d)
	before := c.everything(name)
	for _, w := range all {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		resp, err := http.DefaultTransport.RoundTrip(c.request(ctx, w.method, w.path, strings.NewReader(w.body)))
		if err != nil {
			t.Errorf("%s: %v", w.what, err)
			cancel()
			continue
		}
		var said api.Error
		err = json.NewDecoder(resp.Body).Decode(&said)
		_ = resp.Body.Close()
		cancel()
		if resp.StatusCode < 400 || resp.StatusCode > 499 {
			t.Errorf("%s: %s %s %.200s is answered %d", w.what, w.method, w.path, w.body, resp.StatusCode)
			continue
		}
		if err != nil || said.Code == "" || len(said.Message) < 15 || !strings.HasSuffix(said.Message, ".") {
			t.Errorf("%s: %s %s says %+v (%v)", w.what, w.method, w.path, said, err)
		}
	}
	if after := c.everything(name); !reflect.DeepEqual(before, after) {
		t.Errorf("something came of it: before\n%+v, after\n%+v", before, after)
	}
}

// everything is what a wrong request could have changed.
func (c *caller) everything(name string) map[string]any {
	c.t.Helper()
	found := map[string]any{}
	for _, path := range []string{
		"/api/machines?limit=1000", "/api/machines?deleted=true", "/api/machines/" + name + "/instructions", "/api/machines/" + name + "/checkpoints",
		"/api/machines/" + name + "/branches", "/api/machines/" + name + "/network", "/api/settings", "/api/makers", "/api/hosted",
	} {
		found[path] = as[any](c, c.send("GET", path, nil))
	}
	for _, path := range []string{"/api/machines?limit=1000", "/api/machines?deleted=true"} {
		for _, m := range found[path].(map[string]any)["items"].([]any) {
			for _, moves := range []string{"state", "stats", "disk", "last_active_at", "undo"} {
				delete(m.(map[string]any), moves)
			}
		}
	}
	var kept []any // automatic checkpoints come on their own
	list := "/api/machines/" + name + "/checkpoints"
	for _, one := range found[list].(map[string]any)["items"].([]any) {
		if one.(map[string]any)["kind"] == "manual" {
			kept = append(kept, one)
		}
	}
	found[list] = kept
	return found
}

// wrongRequests are requests of an operation that its description rules out.
func wrongRequests(method, path string, item *openapi3.PathItem, operation *openapi3.Operation, name string) (all []wrong) {
	right := strings.NewReplacer("{name}", name, "{seq}", "0", "{n}", "0", "{place}", "result", "{id}", "1", "{branch}", "x", "{fingerprint}", "x").Replace(path)
	if strings.Contains(path, "/api/apps/") {
		right = strings.Replace(path, "{id}", "claude", 1)
	}
	add := func(what, path, body string) { all = append(all, wrong{what, method, path, body}) }
	query := url.Values{}
	var parameters openapi3.Parameters
	for _, p := range append(slices.Clone(item.Parameters), operation.Parameters...) {
		if p.Value.In == "query" {
			parameters = append(parameters, p)
			if p.Value.Required {
				query.Set(p.Value.Name, "x")
			}
			continue
		}
		if p.Value.Schema.Value.Type.Is("integer") {
			for _, text := range []string{"-1", "1.5", "NaN", "x", "1e3", "%2B1", "99999999999999999999"} {
				place := strings.Replace(path, "{"+p.Value.Name+"}", text, 1)
				add(p.Value.Name+" in the path", strings.NewReplacer("{name}", name, "{seq}", "0", "{n}", "0", "{place}", "result").Replace(place), "")
			}
		}
	}
	at := func(query url.Values) string {
		if len(query) == 0 {
			return right
		}
		return right + "?" + query.Encode()
	}
	for _, p := range parameters {
		with := func(text string) string {
			changed := maps.Clone(query)
			changed.Set(p.Value.Name, text)
			return at(changed)
		}
		schema := p.Value.Schema.Value
		many := schema.Type.Is("array")
		if many {
			schema = schema.Items.Value
		}
		for _, text := range wrongTexts(schema) {
			if text == "" && !many {
				continue // as good as none
			}
			add(p.Value.Name+" in the query", with(text), "")
		}
		if p.Value.Required {
			changed := maps.Clone(query)
			changed.Del(p.Value.Name)
			add(p.Value.Name+" missing", at(changed), "")
			add(p.Value.Name+" empty", with(""), "")
		}
	}
	if operation.RequestBody == nil || operation.RequestBody.Value.Content["application/json"] == nil {
		return all
	}
	bodies := []string{"null", "[]", `"x"`, "1", "true", "x", "{", "{}{}"}
	if operation.RequestBody.Value.Required {
		bodies = append(bodies, "", " ")
	}
	for _, body := range bodies {
		add("the body", at(query), body)
	}
	body := operation.RequestBody.Value.Content["application/json"].Schema.Value
	for _, one := range wrongObjects(body, rightBodies[operation.OperationID]) {
		encoded, err := json.Marshal(one.value)
		if err != nil {
			panic(err)
		}
		add(one.what, at(query), string(encoded))
	}
	return all
}

// wrongValue is a value that a schema rules out.
type wrongValue struct {
	what  string
	value any
}

// wrongObjects are objects in which one thing is wrong.
func wrongObjects(schema *openapi3.Schema, right map[string]any) (all []wrongValue) {
	with := func(key, what string, value any) {
		changed := maps.Clone(right)
		if changed == nil {
			changed = map[string]any{}
		}
		changed[key] = value
		all = append(all, wrongValue{key + " " + what, changed})
	}
	for _, key := range schema.Required {
		changed := maps.Clone(right)
		delete(changed, key)
		all = append(all, wrongValue{key + " missing", changed})
	}
	for key, property := range schema.Properties {
		for _, one := range wrongValues(property.Value, key) {
			with(key, one.what, one.value)
		}
	}
	return all
}

// wrongValues are values that a schema rules out.
func wrongValues(schema *openapi3.Schema, key string) (all []wrongValue) {
	add := func(what string, value any) { all = append(all, wrongValue{what, value}) }
	for kind, sample := range map[string]any{"null": nil, "string": "NaN", "number": 1.5, "boolean": true, "array": []any{1.5}, "object": map[string]any{"x": 1.5}} {
		if !schema.Type.Includes(kind) {
			add("as "+kind, sample)
		}
	}
	if schema.Type.Includes("integer") {
		add("huge", json.Number("1e30"))
		add("far below", json.Number("-1e30"))
	}
	if schema.Type.Includes("number") {
		add("beyond numbers", json.Number("1e400"))
	}
	if schema.Min != nil {
		add("too small", *schema.Min-1)
	}
	if schema.Max != nil {
		add("too large", *schema.Max+1)
	}
	if len(schema.Enum) > 0 {
		add("unknown", "unknown")
		add("empty", "")
	}
	if schema.Format == "date-time" {
		add("as no time", "yesterday")
		add("empty", "")
	}
	if schema.MaxLength != nil {
		add("too long", strings.Repeat("x", int(*schema.MaxLength)+1))
	}
	if schema.MaxItems != nil {
		add("too many", slices.Repeat([]any{anyRight(schema.Items.Value, key)}, int(*schema.MaxItems)+1))
	}
	if schema.MinItems > 0 {
		add("too few", []any{})
	}
	if schema.Items != nil {
		for _, one := range wrongValues(schema.Items.Value, key) {
			add("of items "+one.what, []any{one.value})
		}
	}
	if more := schema.AdditionalProperties.Schema; more != nil {
		for _, one := range wrongValues(more.Value, key) {
			add("of values "+one.what, map[string]any{"k": one.value})
		}
	}
	for _, one := range wrongObjects(schema, rightNested[key]) {
		add(one.what, one.value)
	}
	return all
}

func anyRight(schema *openapi3.Schema, key string) any {
	if schema.Type.Includes("string") {
		return "numpy"
	}
	return rightNested[key]
}

// wrongTexts are texts that a parameter of the query cannot be.
func wrongTexts(schema *openapi3.Schema) (all []string) {
	switch {
	case schema.Type.Is("integer"):
		all = append(all, "x", "1.5", "NaN", "true", "0x10", "99999999999999999999", "-99999999999999999999")
	case schema.Type.Is("number"):
		all = append(all, "x", "NaN", "Inf", "1e400")
	case schema.Type.Is("boolean"):
		all = append(all, "x", "2", "null")
	}
	if schema.Min != nil {
		all = append(all, fmt.Sprint(*schema.Min-1))
	}
	if schema.Max != nil {
		all = append(all, fmt.Sprint(*schema.Max+1))
	}
	if len(schema.Enum) > 0 {
		all = append(all, "unknown", "")
	}
	if schema.Format == "date-time" {
		all = append(all, "yesterday", "2026-02-30T00:00:00Z")
	}
	if schema.MaxLength != nil {
		all = append(all, strings.Repeat("x", int(*schema.MaxLength)+1))
	}
	if schema.Pattern != "" {
		all = append(all, "zz")
	}
	return all
}

// wrongInDescribedForms are requests that are as described but for what a description cannot rule
// out.
func wrongInDescribedForms(name string) []wrong {
	at := "/api/machines/" + name
	return []wrong{
		{"name", "POST", "/api/machines", `{"name": "Not A Name"}`},
		{"name", "POST", "/api/machines", `{"name": "new"}`},
		{"engine", "POST", "/api/machines", `{"engine": "unknown"}`},
		{"image", "POST", "/api/machines", `{"image": "unknown"}`},
		{"expires_at", "POST", "/api/machines", `{"expires_at": "2001-01-01T00:00:00Z"}`},
		{"tags", "POST", "/api/machines", `{"tags": {"": "x"}}`},
		{"title", "POST", "/api/machines", `{"title": "` + strings.Repeat("x", 300) + `"}`},
		{"name", "PATCH", at, `{"name": ""}`},
		{"hosts", "PATCH", at, `{"network": {"hosts": [""]}}`},
		{"checkpoint", "POST", at + "/rewind", `{"checkpoint": ""}`},
		{"checkpoint", "POST", at + "/rewind", `{"checkpoint": "unknown"}`},
		{"checkpoint", "POST", at + "/fork", `{"checkpoint": "unknown"}`},
		{"label", "POST", at + "/checkpoints", `{"label": "` + strings.Repeat("x", 300) + `"}`},
		{"code", "POST", at + "/instructions", "{\"code\": \"'\xff'\"}"},
		{"key", "POST", at + "/instructions", `{"code": "1", "key": "` + strings.Repeat("ä", 33) + `"}`},
		{"packages", "POST", at + "/packages", `{"packages": ["; rm -rf /"]}`},
		{"packages", "POST", at + "/packages", `{"packages": [""]}`},
		{"variable", "POST", at + "/table", `{"variable": ""}`},
		{"cursor", "GET", "/api/machines?cursor=unknown", ""},
		{"cursor", "GET", "/api/search?q=x&cursor=unknown", ""},
		{"cursor", "GET", at + "/plots?cursor=-1", ""},
		{"cursor", "GET", at + "/connections?cursor=NaN", ""},
		{"cursor", "GET", at + "/connections?cursor=-1", ""},
		{"tag", "GET", "/api/machines?tag=x", ""},
		{"from", "GET", at + "/compare?from=unknown", ""},
		{"id", "GET", at + "/checkpoints/unknown/contents", ""},
		{"checkpoint", "GET", at + "/pack?checkpoint=unknown", ""},
		{"the file", "POST", "/api/unpack", "unknown"},
		{"the file", "POST", "/api/unpack/look", ""},
		{"engine", "POST", "/api/engines/unknown/start", ""},
		{"app", "POST", "/api/apps/unknown/test", ""},
		{"machine", "POST", "/api/machines/unknown-1/wake", ""},
	}
}

// wrongInstructions are instructions of the wire that cannot be run.
var wrongInstructions = []string{
	`{}`, `null`, `[]`, `"1"`, `1`, `{"code": null}`, `{"code": 1}`, `{"code": ["1"]}`, `{"code": {}}`, `{"code": true}`, `{"timeout_seconds": 1}`,
	`{"code": "1", "timeout_seconds": 0}`, `{"code": "1", "timeout_seconds": -1}`, `{"code": "1", "timeout_seconds": "NaN"}`, `{"code": "1", "timeout_seconds": NaN}`,
	`{"code": "1", "timeout_seconds": "15"}`, `{"code": "1", "timeout_seconds": 1e400}`, `{"code": "1", "timeout_seconds": true}`, `{"code": "1", "timeout_seconds": [1]}`,
}

// wrongOnTheWire are requests of the public protocol that make no sense.
func wrongOnTheWire(name string) (all []wrong) {
	exec := "/v1/machine/" + name + "/exec"
	for _, body := range []string{"", "null", "{}", "[]", `"x"`, "1", "{", "{}{}", `{"code": "1"}`} {
		all = append(all, wrong{"exec", "POST", exec, body})
	}
	all = append(all, wrong{"exec", "POST", exec, "{\"instruction\": {\"code\": \"'\xff'\"}}"})
	for _, in := range wrongInstructions {
		all = append(all, wrong{"exec", "POST", exec, `{"instruction": ` + in + `, "interrupt": false}`})
	}
	for _, interrupt := range []string{`"true"`, `1`, `[]`, `{}`} {
		all = append(all, wrong{"exec", "POST", exec, `{"instruction": {"code": "1"}, "interrupt": ` + interrupt + `}`})
	}
	tags := []string{`"x"`, `1`, `true`, `["x"]`, `{"k": 1}`, `{"k": null}`, `{"k": ["x"]}`, `{"k": {}}`}
	for _, body := range tags {
		all = append(all,
			wrong{"new", "POST", "/v1/machine/new", `{"tags": ` + body + `}`},
			wrong{"list", "POST", "/v1/machine/list", `{"tags": ` + body + `}`},
			wrong{"list", "GET", "/v1/machine/list", `{"tags": ` + body + `}`})
	}
	all = append(all, wrong{"new", "POST", "/v1/machine/new", `{"tags": {"": "x"}}`})
	for _, memory := range []string{`-1`, `0`, `63`, `1048577`, `1e30`, `512.5`, `"512"`, `"NaN"`, `NaN`, `true`, `[]`, `{}`} {
		all = append(all, wrong{"new", "POST", "/v1/machine/new", `{"memory_mb": ` + memory + `}`})
	}
	for _, body := range []string{"[]", `"x"`, "1", "{", "{}{}"} {
		all = append(all, wrong{"new", "POST", "/v1/machine/new", body}, wrong{"list", "POST", "/v1/machine/list", body})
	}
	for _, seq := range []string{"-1", "1.5", "NaN", "x", "%2B0", "99999999999999999999", "1", "%20"} {
		all = append(all, wrong{"result", "GET", exec + "/" + seq + "/result", ""}, wrong{"stream", "GET", exec + "/" + seq + "/stream-result", ""})
	}
	all = append(all, wrong{"signup", "POST", "/internal/signup", `{"email": 1}`})
	return all
}

// wrongMessages sends messages that make no sense on a socket, which stays usable.
func wrongMessages(t *testing.T, d *running, name string) {
	s := dial(t, d, name, nil)
	send := func(message string) {
		t.Helper()
		if err := s.conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	before := newCaller(t, d).everything(name)
	answered := []string{`{"type": "exec", "request_id": 7}`}
	for _, in := range wrongInstructions {
		answered = append(answered, `{"type": "exec", "instruction": `+in+`, "request_id": 7}`)
	}
	for _, message := range answered {
		if strings.Contains(message, ": NaN") {
			continue // is no JSON
		}
		send(message)
		got, ok := s.next().(wire.ExecReceived)
		if !ok || got.Seq != -1 || got.RequestID != 7 {
			t.Fatalf("%s: received as %+v", message, got)
		}
		result, ok := s.next().(wire.Result)
		if !ok || result.Result.Error == nil || len(*result.Result.Error) < 20 || !strings.HasSuffix(*result.Result.Error, ".") {
			t.Fatalf("%s: answered %+v", message, result)
		}
	}
	for _, message := range []string{
		"", "x", "null", "[]", "{}", "1", `{"type": "exec", "instruction": {"code": "1", "timeout_seconds": NaN}, "request_id": 7}`,
		`{"type": "unknown"}`, `{"type": null, "instruction": {"code": "1"}, "request_id": 7}`, `{"instruction": {"code": "1"}, "request_id": 7}`,
		`{"type": "exec", "instruction": {"code": "1"}, "request_id": "7"}`, `{"type": "exec", "instruction": {"code": "1"}, "request_id": 1.5}`,
		`{"type": "exec", "instruction": {"code": "1"}, "request_id": 1e30}`, `{"type": "exec", "instruction": {"code": "1"}, "request_id": []}`,
	} {
		send(message)
		if said, ok := s.next().(wire.SocketError); !ok || said.Code == "" {
			t.Fatalf("%s: answered %+v", message, said)
		}
	}
	if after := newCaller(t, d).everything(name); !reflect.DeepEqual(before, after) {
		t.Errorf("something came of it: before\n%+v, after\n%+v", before, after)
	}
	s.exec(8, "1") // it still works
}

// What the SDKs send stays accepted: null for what they leave out, and fields that we do not know.
func TestWhatSDKsLeaveOut(t *testing.T) {
	d := sharedDaemon(t)
	c := newCaller(t, d)
	name := c.machine()
	for _, w := range []wrong{
		{"", "POST", "/v1/machine/list", ""},
		{"", "POST", "/v1/machine/list", "null"},
		{"", "POST", "/v1/machine/list", `{"tags": null, "later": 1}`},
		{"", "GET", "/v1/machine/list", ""},
		{"", "POST", "/v1/machine/" + name + "/exec", `{"instruction": {"code": "1", "timeout_seconds": null, "later": {}}, "interrupt": null, "later": 1}`},
		{"", "POST", "/v1/machine/" + name + "/exec", `{"instruction": {"code": ""}}`},
		{"", "PATCH", "/api/machines/" + name, `{"later": 1, "network": {"later": 1}}`},
		{"", "POST", "/api/machines/" + name + "/instructions", `{"code": "1", "later": 1}`},
		{"", "POST", "/api/clients", `{"later": 1}`},
	} {
		resp := c.send(w.method, w.path, strings.NewReader(w.body))
		if resp.StatusCode >= 300 {
			t.Errorf("%s %s %s: %d %s", w.method, w.path, w.body, resp.StatusCode, resp.body)
		}
	}
	made := as[wire.NewMachineResponse](c, c.send("POST", "/v1/machine/new", strings.NewReader(`{"tags": null, "memory_mb": null, "later": 1}`)))
	if gone := c.send("DELETE", "/api/machines/"+made.MachineName+"?purge=true", nil); gone.StatusCode != 204 {
		t.Error(string(gone.body))
	}
}

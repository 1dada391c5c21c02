//go:build real

package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/forevervm/desktop/backend/api"
)

// caller makes requests to a daemon. With spec, every answer of a described call must be as
// described.
type caller struct {
	t    *testing.T
	d    *running
	spec routers.Router
	// called are the operations that were answered with success.
	called map[string]bool
}

func newCaller(t *testing.T, d *running) *caller { return &caller{t: t, d: d} }

// A stream is validated line by line, each of which is JSON.
func init() {
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.JSONBodyDecoder)
}

// newSpecCaller holds every answer against the API's description.
func newSpecCaller(t *testing.T, d *running) *caller {
	t.Helper()
	spec, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Servers = nil // the address is the daemon's
	router, err := legacy.NewRouter(spec)
	if err != nil {
		t.Fatal(err)
	}
	return &caller{t: t, d: d, spec: router, called: map[string]bool{}}
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	body []byte
}

// send makes one request. A body that is no reader is sent as JSON.
func (c *caller) send(method, path string, body any, set ...func(*http.Request)) answer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	req := c.request(ctx, method, path, body)
	for _, f := range set {
		f(req)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	c.check(req, resp, data)
	return answer{resp, data}
}

func (c *caller) request(ctx context.Context, method, path string, body any) *http.Request {
	c.t.Helper()
	var reader io.Reader
	mediaType := ""
	switch b := body.(type) {
	case nil:
	case io.Reader:
		reader, mediaType = b, "application/octet-stream"
	default:
		data, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		reader, mediaType = bytes.NewReader(data), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, method, c.d.url+path, reader)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.d.token)
	req.Header.Set("X-Forevervm-Client", "daemon test/1.0")
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	return req
}

// check holds an answer against the description, line by line where it is a stream.
func (c *caller) check(req *http.Request, resp *http.Response, body []byte) {
	c.t.Helper()
	if c.spec == nil {
		return
	}
	route, params, err := c.spec.FindRoute(req)
	if err != nil {
		c.t.Errorf("%s %s is not described: %v", req.Method, req.URL.Path, err)
		return
	}
	parts := [][]byte{body}
	if resp.Header.Get("Content-Type") == "application/x-ndjson" {
		parts = bytes.SplitAfter(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
	}
	for _, part := range parts {
		input := &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
			Status:                 resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(part)),
			Options: &openapi3filter.Options{IncludeResponseStatus: true},
		}
		if err := openapi3filter.ValidateResponse(c.t.Context(), input); err != nil {
			c.t.Errorf("%s %s answers otherwise than described: %v\n%.500s", req.Method, req.URL.Path, err, part)
			return
		}
	}
	if resp.StatusCode < 300 {
		c.called[route.Operation.OperationID] = true
	}
}

// as reads a successful answer.
func as[T any](c *caller, a answer) T {
	c.t.Helper()
	var v T
	if a.StatusCode != http.StatusOK {
		c.t.Fatalf("%s %s: %d %s", a.Request.Method, a.Request.URL.Path, a.StatusCode, a.body)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		c.t.Fatalf("%s %s: %v in %s", a.Request.Method, a.Request.URL.Path, err, a.body)
	}
	return v
}

// fails expects an error of ours.
func (c *caller) fails(a answer, status int, code string) {
	c.t.Helper()
	var said api.Error
	if err := json.Unmarshal(a.body, &said); err != nil || a.StatusCode != status || said.Code != code {
		c.t.Errorf("%s %s: %d %s, want %d %s", a.Request.Method, a.Request.URL.Path, a.StatusCode, a.body, status, code)
	}
	if len(said.Message) < 20 {
		c.t.Errorf("%s %s: %q tells a person nothing", a.Request.Method, a.Request.URL.Path, said.Message)
	}
}

// machine makes one over the API, which is removed for good in the end.
func (c *caller) machine() string {
	c.t.Helper()
	name := as[api.Machine](c, c.send("POST", "/api/machines", api.NewMachine{})).Name
	c.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		resp, err := http.DefaultTransport.RoundTrip(c.request(ctx, "DELETE", "/api/machines/"+name+"?purge=true", nil))
		if err != nil {
			c.t.Error(err)
			return
		}
		_ = resp.Body.Close()
	})
	return name
}

// run runs code to its end.
func (c *caller) run(name, code string) api.Instruction {
	c.t.Helper()
	queued := as[api.Instruction](c, c.send("POST", "/api/machines/"+name+"/instructions", api.Execute{Code: code, TimeoutSeconds: 60}))
	return c.wait(name, queued.Seq)
}

func (c *caller) wait(name string, seq int) api.Instruction {
	c.t.Helper()
	return as[api.Instruction](c, c.send("GET", instructionPath(name, seq)+"?wait=100", nil))
}

// until repeats a look until it is as it should be.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("in vain waited for: %s", what)
		}
	}
}

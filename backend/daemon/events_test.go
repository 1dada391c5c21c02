//go:build real

package daemon_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/forevervm/desktop/backend/api"
)

// eventCalls follows what happens, is cut off, and goes on where it was.
func (c *caller) eventCalls(t *testing.T) {
	c.t = t
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	open := func(after string) (*json.Decoder, func()) {
		req := c.request(ctx, "GET", "/api/events?after="+url.QueryEscape(after), nil)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v %v", resp, err)
		}
		return json.NewDecoder(resp.Body), func() { _ = resp.Body.Close() }
	}
	next := func(from *json.Decoder) api.Event {
		var raw json.RawMessage
		if err := from.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		req := c.request(ctx, "GET", "/api/events", nil)
		c.check(req, &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/x-ndjson"}}}, raw)
		var event api.Event
		if err := json.Unmarshal(raw, &event); err != nil {
			t.Fatal(err)
		}
		return event
	}
	first, closeFirst := open("")
	name := c.machine()
	var made api.Event
	for made.Type != "machine" || made.Machine.Name != name {
		made = next(first)
	}
	closeFirst()
	c.run(name, "print('seen')")
	second, closeSecond := open(made.ID)
	defer closeSecond()
	statuses := map[string]bool{}
	output := ""
	for !statuses["ok"] {
		event := next(second)
		switch {
		case event.Type == "instruction" && event.Name == name:
			statuses[event.Instruction.Status] = true
		case event.Type == "item" && event.Name == name:
			output += event.Item.Text
		case event.Type == "reset":
			t.Fatal("the position was lost")
		}
	}
	if output != "seen\n" {
		t.Errorf("output %q", output)
	}
	unknown, closeUnknown := open("nonsense")
	defer closeUnknown()
	if event := next(unknown); event.Type != "reset" {
		t.Errorf("an unknown position: %+v", event)
	}
}

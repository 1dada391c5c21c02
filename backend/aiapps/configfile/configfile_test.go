package configfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
)

var (
	jsonList     = configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}
	commentList  = configfile.List{Format: configfile.JSONC, Keys: []string{"servers"}}
	nestedList   = configfile.List{Format: configfile.JSONC, Keys: []string{"mcp", "servers"}}
	yamlList     = configfile.List{Format: configfile.YAML, Keys: []string{"extensions"}}
	yamlItems    = configfile.List{Format: configfile.YAML, Keys: []string{"mcpServers"}, Items: true}
	tomlList     = configfile.List{Format: configfile.TOML, Keys: []string{"mcp_servers"}}
	entry        = configfile.Object{{Key: "command", Value: "run"}, {Key: "args", Value: []any{"a", "b c"}}}
	anotherEntry = configfile.Object{{Key: "command", Value: "other"}}
)

// How it looks: a new entry is laid out as its neighbours are.
func TestSet(t *testing.T) {
	for name, c := range map[string]struct {
		list         configfile.List
		before, want string
	}{
		"nothing": {jsonList, "", "{\n  \"mcpServers\": {\n    \"me\": {\n      \"command\": \"run\",\n      \"args\": [\"a\", \"b c\"]\n    }\n  }\n}\n"},
		"tabs": {
			jsonList, "{\n\t\"mcpServers\": {\n\t\t\"x\": {}\n\t}\n}",
			"{\n\t\"mcpServers\": {\n\t\t\"x\": {},\n\t\t\"me\": {\n\t\t\t\"command\": \"run\",\n\t\t\t\"args\": [\"a\", \"b c\"]\n\t\t}\n\t}\n}",
		},
		"one line":        {jsonList, `{"mcpServers":{"x":{}}}`, `{"mcpServers":{"x":{},"me":{"command":"run","args":["a","b c"]}}}`},
		"one line, loose": {jsonList, `{"mcpServers": {"x": {}}}`, `{"mcpServers": {"x": {}, "me": {"command": "run", "args": ["a", "b c"]}}}`},
		"a comment stays with its entry": {
			commentList, "{\n  \"servers\": {\n    \"x\": {} // x's\n  }\n}\n",
			"{\n  \"servers\": {\n    \"x\": {}, // x's\n    \"me\": {\n      \"command\": \"run\",\n      \"args\": [\"a\", \"b c\"]\n    }\n  }\n}\n",
		},
		"commas at the end": {
			commentList, "{\n  \"servers\": {\n    \"x\": {},\n  },\n}\n",
			"{\n  \"servers\": {\n    \"x\": {},\n    \"me\": {\n      \"command\": \"run\",\n      \"args\": [\"a\", \"b c\"]\n    },\n  },\n}\n",
		},
		"two levels": {nestedList, `{"mcp": {"a": 1}}`, `{"mcp": {"a": 1, "servers": {"me": {"command": "run", "args": ["a", "b c"]}}}}`},
		"replaced":   {jsonList, `{"mcpServers": {"me": {"command": "old", "k": 1}, "x": {}}}`, `{"mcpServers": {"me": {"command": "run", "args": ["a", "b c"]}, "x": {}}}`},
		"block": {
			yamlList, "a: 1\nextensions: # all\n    # the first\n    x:\n        k: v\nb: 2\n",
			"a: 1\nextensions: # all\n    me:\n      command: run\n      args:\n        - a\n        - \"b c\"\n    # the first\n    x:\n        k: v\nb: 2\n",
		},
		"empty block":    {yamlList, "extensions: {} # none\nb: 2", "extensions: # none\n  me:\n    command: run\n    args:\n      - a\n      - \"b c\"\nb: 2"},
		"no end of line": {yamlList, "a: 1", "a: 1\nextensions:\n  me:\n    command: run\n    args:\n      - a\n      - \"b c\""},
		"flow":           {yamlList, "extensions: {x: {k: v}}\n", "extensions: {me: {command: run, args: [a, \"b c\"]}, x: {k: v}}\n"},
		"items": {
			yamlItems, "mcpServers:\n- name: x\n  command: y\n",
			"mcpServers:\n- name: me\n  command: run\n  args:\n    - a\n    - \"b c\"\n- name: x\n  command: y\n",
		},
		"table":        {tomlList, "a = 1\r\n", "a = 1\r\n\r\n[mcp_servers.me]\r\ncommand = \"run\"\r\nargs = [\"a\", \"b c\"]\r\n"},
		"inline table": {tomlList, "mcp_servers = { x = {} }\n", "mcp_servers = { me = { command = \"run\", args = [\"a\", \"b c\"] }, x = {} }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.list.Set([]byte(c.before), "me", entry)
			if err != nil || string(got) != c.want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

// Taken out without knowing how it came in, an entry leaves all comments but its own, and a list that is still one.
func TestRemove(t *testing.T) {
	for name, c := range map[string]struct {
		list         configfile.List
		before, want string
	}{
		"first":      {jsonList, "{\n  \"mcpServers\": {\n    \"me\": {\"command\": \"x\"},\n    \"y\": {}\n  }\n}", "{\n  \"mcpServers\": {\n    \"y\": {}\n  }\n}"},
		"last":       {jsonList, "{\n  \"mcpServers\": {\n    \"y\": {},\n    \"me\": {\"command\": \"x\"}\n  }\n}", "{\n  \"mcpServers\": {\n    \"y\": {}\n  }\n}"},
		"only":       {jsonList, "{\n  \"mcpServers\": {\n    \"me\": {\"command\": \"x\"}\n  }\n}", "{\n  \"mcpServers\": {}\n}"},
		"twice":      {jsonList, `{"mcpServers": {"me": {}, "y": {}, "me": {"command": "x"}}}`, `{"mcpServers": {"y": {}}}`},
		"comments":   {commentList, "{\"servers\": { // all\n  \"me\": {}, // mine\n  // y's\n  \"y\": {} } }", "{\"servers\": { // all // mine\n  // y's\n  \"y\": {} } }"},
		"block":      {yamlList, "extensions:\n  # a\n  me:\n    k: v\n\n  # b\n  y: {}\n", "extensions:\n  # a\n\n  # b\n  y: {}\n"},
		"only block": {yamlList, "extensions:\n  me:\n    k: v\n# end\n", "extensions: {}\n# end\n"},
		"items":      {yamlItems, "mcpServers:\n  - name: me\n    command: x\n", "mcpServers: []\n"},
		"tables":     {tomlList, "[mcp_servers.me]\na = 1\n\n[x]\nb = 2 # two\n\n[mcp_servers.me.env]\nc = 3\n", "\n[x]\nb = 2 # two\n"},
		"not there":  {tomlList, "a = 1", "a = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.list.Remove([]byte(c.before), "me")
			if err != nil || string(got) != c.want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

func TestUndoFindsWhatMoved(t *testing.T) {
	before := []byte(`{"mcpServers": {"x": {}}}`)
	after, err := jsonList.Set(before, "me", entry)
	if err != nil {
		t.Fatal(err)
	}
	change := configfile.Between(before, after)
	moved := strings.Replace(string(after), "{", "{ \"more\": 1,", 1)
	if got, ok := change.Undo([]byte(moved)); !ok || string(got) != `{ "more": 1,"mcpServers": {"x": {}}}` {
		t.Errorf("%s, %v", got, ok)
	}
	if got, ok := change.Undo(before); ok {
		t.Errorf("what is not there was taken out: %s", got)
	}
	// A change never cuts a character in two.
	umlauts := configfile.Between([]byte("aä"), []byte("aü"))
	if umlauts.Removed != "ä" || umlauts.Inserted != "ü" {
		t.Errorf("%+v", umlauts)
	}
}

func TestSameBut(t *testing.T) {
	a := []byte(`{"a": 1, "mcpServers": {"x": {}}}`)
	b, err := jsonList.Set(a, "me", entry)
	if err != nil {
		t.Fatal(err)
	}
	if !jsonList.SameBut(a, b, "me") || jsonList.SameBut(a, b, "x") || jsonList.SameBut(a, []byte(`{"a": 2, "mcpServers": {"x": {}}}`), "me") {
		t.Error("what differs is not told from what does not")
	}
	if c, err := jsonList.Set(b, "x", anotherEntry); err != nil || jsonList.SameBut(b, c, "me") || !jsonList.SameBut(b, c, "x") {
		t.Errorf("%s, %v", c, err)
	}
}

// A file that holds a list in a form that has no place for an entry is left alone, with a word.
func TestNoWay(t *testing.T) {
	_, err := yamlList.Set([]byte("x: &x {a: {}}\nextensions: *x\n"), "me", entry)
	if !errors.Is(err, configfile.ErrNoWay) && !errors.Is(err, configfile.ErrBroken) {
		t.Error(err)
	}
}

// A file that holds the word null is not broken, but nothing can be put before or behind that.
func TestNoWayBesideNull(t *testing.T) {
	list := yamlItems
	list.Start = "name: mine\n"
	for _, text := range []string{"null", "~ # nothing\n"} {
		if _, err := list.Set([]byte(text), "me", entry); !errors.Is(err, configfile.ErrNoWay) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

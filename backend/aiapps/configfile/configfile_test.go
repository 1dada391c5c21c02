package configfile_test

import (
	"errors"
	"fmt"
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

// Taken out without knowing how it came in, an entry leaves all comments but its own, and a list
// that is still one.
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

// Where YAML's anchors and aliases make one place of a file stand for others, the list is read, and
// not changed where that could reach them.
func TestShared(t *testing.T) {
	for text, may := range map[string]struct{ set, remove bool }{
		"x: &x {a: {}}\nextensions: *x\n":                            {},
		"x: &x\n  me: {cmd: x}\nextensions: *x\n":                    {},
		"extensions: &x {a: {}}\nx: *x\n":                            {},
		"extensions: &x\n  me: {cmd: x}\nx: *x\n":                    {},
		"extensions:\n  me: &m {cmd: x}\n  other: *m\n":              {},
		"extensions:\n  other: &m {cmd: x}\n  me: *m\n":              {},
		"d: &d {timeout: 1}\nextensions:\n  me:\n    <<: *d\n":       {},
		"extensions:\n  me:\n    args: &a [x]\nx: *a\n":              {},
		"extensions:\n  a: &a {cmd: x}\n  b: *a\n  me: {cmd: x}\n":   {true, true},
		"d: &d {timeout: 1}\nextensions:\n  a:\n    <<: *d\n":        {true, true},
		"x: &x [1]\ny: *x\n":                                         {true, true},
		"x: &x {a: {cmd: y}}\nextensions:\n  <<: *x\n  me: {cmd: x}": {true, true},
	} {
		if _, err := yamlList.Servers([]byte(text)); err != nil {
			t.Errorf("%q is not read: %v", text, err)
		}
		_, err := yamlList.Set([]byte(text), "me", entry)
		if may.set && err != nil || !may.set && !(errors.Is(err, configfile.ErrShared) && errors.Is(err, configfile.ErrNoWay)) {
			t.Errorf("%q: set: %v", text, err)
		}
		if !strings.Contains(text, "me:") {
			continue
		}
		if _, err := yamlList.Remove([]byte(text), "me"); may.remove && err != nil || !may.remove && !errors.Is(err, configfile.ErrShared) {
			t.Errorf("%q: remove: %v", text, err)
		}
	}
	servers, err := yamlList.Servers([]byte("x: &x {a: {cmd: y}}\nextensions: *x\n"))
	if err != nil || len(servers) != 1 || servers[0].Entry.Text("cmd") != "y" {
		t.Errorf("%+v, %v", servers, err)
	}
	for _, bomb := range []string{"a: &a [*a]\n", "a: &a [x, x, x, x, x, x, x, x, x]\n" + func() (lines string) {
		for c := 'b'; c < 'k'; c++ {
			lines += fmt.Sprintf("%c: &%[1]c [%s]\n", c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 9), ", "))
		}
		return lines
	}()} {
		if _, err := yamlList.Set([]byte(bomb), "me", entry); !errors.Is(err, configfile.ErrBroken) {
			t.Errorf("%.20q: %v", bomb, err)
		}
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

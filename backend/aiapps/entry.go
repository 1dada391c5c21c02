package aiapps

import (
	"path"
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
)

// Key is the name of the entry, the same that the official installer uses.
const Key = "forevervm"

func texts(list ...string) []any {
	out := make([]any, 0, len(list))
	for _, text := range list {
		out = append(out, text)
	}
	return out
}

// The shapes of an entry.

func stdio(s Server) configfile.Object {
	return configfile.Object{{Key: "command", Value: s.Program}, {Key: "args", Value: texts(s.Args...)}}
}

func typed(s Server) configfile.Object {
	return append(configfile.Object{{Key: "type", Value: "stdio"}}, stdio(s)...)
}

// copilot's entry says which tools the model may see.
func copilot(s Server) configfile.Object {
	return append(typed(s), configfile.Member{Key: "tools", Value: texts("*")})
}

func zed(s Server) configfile.Object {
	return append(stdio(s), configfile.Member{Key: "env", Value: configfile.Object{}})
}

func goose(s Server) configfile.Object {
	return configfile.Object{
		{Key: "name", Value: Key},
		{Key: "description", Value: "Python that keeps its variables and files forever"},
		{Key: "type", Value: "stdio"},
		{Key: "cmd", Value: s.Program},
		{Key: "args", Value: texts(s.Args...)},
		{Key: "envs", Value: configfile.Object{}},
		{Key: "enabled", Value: true},
		{Key: "timeout", Value: 300}, // seconds
	}
}

func opencode(s Server) configfile.Object {
	return configfile.Object{
		{Key: "type", Value: "local"},
		{Key: "command", Value: append(texts(s.Program), texts(s.Args...)...)},
		{Key: "enabled", Value: true},
	}
}

// server is what an entry starts, whatever its shape.
func server(entry configfile.Object) Server {
	if all := entry.Texts("command"); len(all) > 0 {
		return Server{all[0], all[1:]}
	}
	for _, key := range []string{"command", "cmd"} {
		if program := entry.Text(key); program != "" {
			return Server{program, entry.Texts("args")}
		}
	}
	if command, _ := entry.Get("command"); command != nil { // an older Zed's
		if object, ok := command.(configfile.Object); ok {
			return Server{object.Text("path"), object.Texts("args")}
		}
	}
	return Server{}
}

// base is the name of a program without its folder and ending, on whatever system.
func base(program string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// isOurs says whether an entry starts this program, of whatever version and wherever it is.
func isOurs(entry configfile.Object) bool {
	s := server(entry)
	return base(s.Program) == "forevervm" && slices.Contains(s.Args, "mcp")
}

// isOfficial says whether an entry starts the official MCP server, which speaks to the hosted
// service: npx --yes forevervm-mcp run.
func isOfficial(entry configfile.Object) bool {
	s := server(entry)
	return slices.ContainsFunc(append([]string{base(s.Program)}, s.Args...), func(word string) bool {
		name, _, _ := strings.Cut(word, "@")
		return name == "forevervm-mcp"
	})
}

// same says whether an entry starts just this server.
func same(entry configfile.Object, want Server) bool {
	have := server(entry)
	return have.Program == want.Program && slices.Equal(have.Args, want.Args)
}

// off says whether an entry is switched off.
func off(entry configfile.Object) bool {
	enabled, _ := entry.Get("enabled")
	disabled, _ := entry.Get("disabled")
	return enabled == false || disabled == true
}

// withExtras adds to an entry what a person has set in an older one of ours, such as which tools
// need no asking.
func withExtras(entry, older configfile.Object) configfile.Object {
	for _, member := range older {
		_, known := entry.Get(member.Key)
		if known || slices.Contains([]string{"command", "args", "cmd", "type", "url", "source", "disabled", "name"}, member.Key) {
			continue
		}
		entry = append(entry, member)
	}
	return entry
}

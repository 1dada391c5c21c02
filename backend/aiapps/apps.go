// Package aiapps connects AI apps to ForeverVM: it puts one entry into the file where an app lists
// its MCP servers, takes it out again, tells how things stand, and mends what an app has undone.
// The files belong to other programs: everything but that entry is left as it is.
package aiapps

import (
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
)

// App is an AI app.
type App struct {
	ID   string // what it is called on the command line
	Also string // another name for it there; "" for none
	Name string // what people call it
	// Files are where it lists its servers, by system, "//" between the folder that shows that it
	// is used and the rest. In a folder a star stands for anything, and the beginning for a place
	// (Computer.expand).
	Files map[string][]string
	// FirstOnly says that of several folders only the first is meant; otherwise all that exist are.
	FirstOnly bool
	// Signs are more files that show that it is installed, by system; "$name" is a program that a
	// shell finds.
	Signs map[string][]string
	// Processes are the names of its program as the system lists it, by system; before a slash, a
	// folder in its path.
	Processes map[string][]string
	// Restarts says that it sees a change only when it starts, and may undo one when it quits. It
	// can be quit without loss.
	Restarts bool
	List     configfile.List
	Entry    func(Server) configfile.Object
	// Clients are how it names itself to MCP servers, in small letters; a star at the end stands
	// for anything.
	Clients []string
	// Link is an address by which the app asks the person itself whether to add the server; nil
	// where there is none.
	Link func(Server) string
	// Prompt is an address that opens the app with a prompt, which the person then sends or not;
	// nil where there is none.
	Prompt func(prompt string) string
	// Tool is its own command for changing the list; nil where there is none.
	Tool *Tool
	// Extensions is the folder, beside its file, of the extensions that it has installed; "" for an
	// app that knows none.
	Extensions string
	// Skills is the folder of its user's skills; "" for an app that takes none.
	Skills string
	// After says what a person must do for a change to hold.
	After string
}

// Server is what an app is to start.
type Server struct {
	Program string   // absolute
	Args    []string // after it
}

const (
	linux   = "linux"
	darwin  = "darwin"
	windows = "windows"
)

// everywhere is for apps that keep their files at the same place on each system.
func everywhere(paths ...string) map[string][]string {
	return map[string][]string{linux: paths, darwin: paths, windows: paths}
}

// codeLike are the user folders of editors that were made from VS Code.
func codeLike(name, file string) map[string][]string {
	return map[string][]string{
		linux:   {"{config}/" + name + "//User/" + file},
		darwin:  {"{support}/" + name + "//User/" + file},
		windows: {"{appdata}/" + name + "//User/" + file},
	}
}

const (
	restart = "Quit it and start it again."
	reload  = "Reload its list of MCP servers, or start it again."
)

// Apps are all that ForeverVM knows, in the order in which people see them.
var Apps = []App{
	{
		ID: "claude", Name: "Claude Desktop",
		Files: map[string][]string{
			linux:  {"{config}/Claude//claude_desktop_config.json"},
			darwin: {"{support}/Claude//claude_desktop_config.json"},
			// Installed from the shop, which is the usual way now, it has a file system of its own
			// for this folder.
			windows: {"{localappdata}/Packages/Claude_*//LocalCache/Roaming/Claude/claude_desktop_config.json", "{appdata}/Claude//claude_desktop_config.json"},
		},
		Signs: map[string][]string{
			linux:   {"$claude-desktop"},
			darwin:  {"/Applications/Claude.app", "~/Applications/Claude.app"},
			windows: {"{localappdata}/AnthropicClaude/claude.exe"},
		},
		Processes: map[string][]string{
			linux:  {"claude-desktop", "claude-desktop/electron"}, // others build it for Linux as a script that starts Electron
			darwin: {"Claude"},
			// Claude Code's program has the same name.
			windows: {"AnthropicClaude/claude.exe", "Claude_*/claude.exe"},
		},
		List:  configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}},
		Entry: stdio, Clients: []string{"claude-ai", "claude desktop"}, Restarts: true, Extensions: "Claude Extensions", Prompt: claudePrompt,
		After: "Quit it, from its tray or menu too (closing the window is not enough), and start it again.",
	},
	{
		ID: "claude-code", Name: "Claude Code",
		Files: everywhere("{claude}//.claude.json"), Signs: everywhere("~/.claude.json", "~/.claude", "$claude"),
		List: configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: typed,
		Clients: []string{"claude-code", "claude code"}, Tool: claudeTool, After: restart,
		Skills: "{claude-folder}/skills",
	},
	{
		ID: "cursor", Name: "Cursor",
		Files:     everywhere("~/.cursor//mcp.json"),
		Processes: map[string][]string{linux: {"cursor"}, darwin: {"Cursor"}, windows: {"Cursor.exe"}},
		List:      configfile.List{Format: configfile.JSONC, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"cursor", "cursor-vscode"}, Link: cursorLink, Prompt: cursorPrompt, After: reload,
	},
	{
		ID: "vscode", Name: "VS Code",
		Files:     codeLike("Code", "mcp.json"),
		Processes: map[string][]string{linux: {"code"}, darwin: {"Code", "Visual Studio Code", "Visual Studio Code.app/Electron"}, windows: {"Code.exe"}},
		List:      configfile.List{Format: configfile.JSONC, Keys: []string{"servers"}}, Entry: typed,
		Clients: []string{"visual studio code"}, Link: codeLink("vscode"), After: reload,
	},
	{
		ID: "vscode-insiders", Name: "VS Code Insiders",
		Files:     codeLike("Code - Insiders", "mcp.json"),
		Processes: map[string][]string{linux: {"code-insiders"}, darwin: {"Code - Insiders", "Visual Studio Code - Insiders.app/Electron"}, windows: {"Code - Insiders.exe"}},
		List:      configfile.List{Format: configfile.JSONC, Keys: []string{"servers"}}, Entry: typed,
		Clients: []string{"visual studio code - insiders"}, Link: codeLink("vscode-insiders"), After: reload,
	},
	{
		ID: "windsurf", Name: "Windsurf",
		Files:     everywhere("~/.codeium/windsurf//mcp_config.json"),
		Processes: map[string][]string{linux: {"windsurf"}, darwin: {"Windsurf"}, windows: {"Windsurf.exe"}},
		List:      configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"windsurf*"}, After: reload,
	},
	{
		// Its link is of no use: it starts only programs of a short list.
		ID: "goose", Name: "Goose",
		Files: map[string][]string{
			linux: {"{config}/goose//config.yaml"}, darwin: {"~/.config/goose//config.yaml"},
			windows: {"{appdata}/Block/goose//config/config.yaml"},
		},
		Signs:     map[string][]string{linux: {"$goose"}, darwin: {"$goose", "/Applications/Goose.app"}},
		Processes: map[string][]string{linux: {"goose", "goosed"}, darwin: {"Goose", "goosed"}, windows: {"Goose.exe", "goosed.exe"}},
		List:      configfile.List{Format: configfile.YAML, Keys: []string{"extensions"}}, Entry: goose,
		Clients: []string{"goose*"}, After: "Begin a new session.",
	},
	{
		ID: "zed", Name: "Zed",
		Files: map[string][]string{
			linux: {"{config}/zed//settings.json"}, darwin: {"~/.config/zed//settings.json"}, windows: {"{appdata}/Zed//settings.json"},
		},
		Signs:     map[string][]string{linux: {"$zed"}, darwin: {"/Applications/Zed.app"}},
		Processes: map[string][]string{linux: {"zed", "zed-editor"}, darwin: {"zed", "Zed"}, windows: {"Zed.exe"}},
		List:      configfile.List{Format: configfile.JSONC, Keys: []string{"context_servers"}}, Entry: zed,
		Clients: []string{"zed"}, After: "Nothing: it sees the change automatically.",
	},
	{
		ID: "lm-studio", Name: "LM Studio",
		Files: everywhere("~/.lmstudio//mcp.json", "~/.cache/lm-studio//mcp.json"), FirstOnly: true,
		Processes: map[string][]string{linux: {"lm-studio"}, darwin: {"LM Studio"}, windows: {"LM Studio.exe"}},
		List:      configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"lmstudio*", "lm studio", "lm-studio*"}, Link: lmStudioLink, After: reload,
	},
	{
		// ChatGPT's desktop app is a host of Codex: it reads the same file.
		ID: "codex", Also: "chatgpt", Name: "ChatGPT and Codex",
		Files:     everywhere("{codex}//config.toml"),
		Signs:     map[string][]string{linux: {"$codex"}, darwin: {"$codex", "/Applications/ChatGPT.app"}, windows: {"$codex"}},
		Processes: map[string][]string{linux: {"codex"}, darwin: {"codex"}, windows: {"codex.exe"}},
		List:      configfile.List{Format: configfile.TOML, Keys: []string{"mcp_servers"}}, Entry: stdio,
		Clients: []string{"codex*", "chatgpt*"}, After: "Begin a new session.",
		Skills: "~/.agents/skills",
	},
	{
		ID: "gemini", Name: "Gemini CLI",
		Files: everywhere("~/.gemini//settings.json"), Signs: everywhere("$gemini"),
		List: configfile.List{Format: configfile.JSONC, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"gemini*"}, After: restart,
		Skills: "~/.gemini/skills",
	},
	{
		ID: "cline", Name: "Cline",
		Files: map[string][]string{
			linux:   cline("{config}"),
			darwin:  cline("{support}"),
			windows: cline("{appdata}"),
		},
		List: configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"cline*"}, After: "Nothing: it sees the change automatically.",
	},
	{
		ID: "continue", Name: "Continue",
		Files: everywhere("~/.continue//config.yaml"),
		List: configfile.List{
			Format: configfile.YAML, Keys: []string{"mcpServers"}, Items: true,
			Start: "name: Local Config\nversion: 1.0.0\nschema: v1\n",
		},
		Entry: stdio, Clients: []string{"continue*"}, After: reload,
	},
	{
		ID: "junie", Name: "JetBrains Junie",
		Files: everywhere("~/.junie//mcp/mcp.json"),
		List:  configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"junie*", "jetbrains*"}, After: restart,
	},
	{
		ID: "kiro", Name: "Kiro",
		Files:     everywhere("~/.kiro//settings/mcp.json"),
		Processes: map[string][]string{linux: {"kiro"}, darwin: {"Kiro"}, windows: {"Kiro.exe"}},
		List:      configfile.List{Format: configfile.JSONC, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"kiro*"}, After: reload,
	},
	{
		ID: "opencode", Name: "OpenCode",
		Files: everywhere("~/.config/opencode//opencode.json"), Signs: everywhere("$opencode"),
		List: configfile.List{Format: configfile.JSONC, Keys: []string{"mcp"}}, Entry: opencode,
		Clients: []string{"opencode*"}, After: restart,
	},
	{
		ID: "amp", Name: "Amp",
		Files: everywhere("~/.config/amp//settings.json"), Signs: everywhere("$amp"),
		List: configfile.List{Format: configfile.JSONC, Keys: []string{"amp.mcpServers"}}, Entry: stdio,
		Clients: []string{"amp*"}, After: restart,
	},
	{
		ID: "copilot", Name: "GitHub Copilot CLI",
		Files: everywhere("~/.copilot//mcp-config.json"), Signs: everywhere("$copilot"),
		List: configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: copilot,
		Clients: []string{"github-copilot*", "copilot*"}, After: restart,
	},
	{
		ID: "kimi", Name: "Kimi Code",
		Files: everywhere("~/.kimi-code//mcp.json"),
		List:  configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"kimi*"}, After: restart,
	},
	{
		ID: "factory", Name: "Factory Droid",
		Files: everywhere("~/.factory//mcp.json"), Signs: everywhere("$droid"),
		List: configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: typed,
		Clients: []string{"factory*", "droid*"}, After: restart,
	},
	{
		ID: "roo", Name: "Roo Code",
		Files: map[string][]string{linux: roo("{config}"), darwin: roo("{support}"), windows: roo("{appdata}")},
		List:  configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"roo*"}, After: "Nothing: it sees the change automatically.",
	},
	{
		ID: "antigravity", Name: "Antigravity",
		Files: everywhere("~/.gemini/config//mcp_config.json", "~/.gemini/antigravity//mcp_config.json"),
		List:  configfile.List{Format: configfile.JSON, Keys: []string{"mcpServers"}}, Entry: stdio,
		Clients: []string{"antigravity*"}, After: reload,
	},
}

func cline(folder string) []string {
	const file = "/User/globalStorage/saoudrizwan.claude-dev//settings/cline_mcp_settings.json"
	return []string{folder + "/Code" + file, folder + "/Cursor" + file}
}

func roo(folder string) []string {
	const file = "/User/globalStorage/rooveterinaryinc.roo-cline//settings/mcp_settings.json"
	return []string{folder + "/Code" + file, folder + "/Cursor" + file}
}

// Find returns an app by its ID.
func Find(id string) (App, bool) {
	at := slices.IndexFunc(Apps, func(app App) bool { return app.ID == id || id != "" && app.Also == id })
	if at < 0 {
		return App{}, false
	}
	return Apps[at], true
}

// IsClient says whether an MCP client of this name is the app.
func (a App) IsClient(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(a.Clients, func(known string) bool {
		start, any := strings.CutSuffix(known, "*")
		return name == start || any && strings.HasPrefix(name, start)
	})
}

package aiapps

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
	"github.com/forevervm/desktop/backend/aiapps/safefile"
)

// Tool is an app's own command that changes its list. It knows how to do so beside an app that runs
// and keeps more in the same file.
type Tool struct {
	Program string // as a shell finds it
	// Add and Remove are its arguments for an entry that is not there, and for one that is.
	Add    func(key string, entry configfile.Object) []string
	Remove func(key string) []string
}

// toolWithin is how long it may take.
const toolWithin = 30 * time.Second

// byTool has an app's own command change the list as it is to be. It is false where there is no
// such command, or where that has not made of the list what it was to.
func (m *Manager) byTool(app App, file safefile.File, next outcome) bool {
	if app.Tool == nil || next.key == "" {
		return false
	}
	program := m.config.Computer.Find(app.Tool.Program)
	before, err := app.List.Servers(file.Data)
	// In Windows' folder for programs from the shop the name may be Claude Desktop's.
	if program == "" || err != nil || strings.Contains(program, `\WindowsApps\`) {
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(before), func(s configfile.Server) bool { return s.Name == next.key })
	if len(rest) < len(before) && !m.runs(program, app.Tool.Remove(next.key)) {
		return false
	}
	want := rest
	if next.entry != nil {
		want = append(want, configfile.Server{Name: next.key, Entry: next.entry})
		if !m.runs(program, app.Tool.Add(next.key, next.entry)) {
			return false
		}
	}
	after, err := safefile.Read(file.Path)
	if err != nil {
		return false
	}
	now, err := app.List.Servers(after.Data)
	return err == nil && len(now) == len(want) && !slices.ContainsFunc(want, func(s configfile.Server) bool {
		return !slices.ContainsFunc(now, func(is configfile.Server) bool { return is.Name == s.Name && configfile.Equal(is.Entry, s.Entry) })
	})
}

// runs says whether a command ends well. What it says is for its own users.
func (m *Manager) runs(program string, arguments []string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), toolWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir, cmd.WaitDelay = m.config.Computer.Home, time.Second
	return cmd.Run() == nil
}

var claudeTool = &Tool{
	Program: "claude",
	Add: func(key string, entry configfile.Object) []string {
		return []string{"mcp", "add-json", "--scope", "user", key, configfile.Text(entry)}
	},
	Remove: func(key string) []string { return []string{"mcp", "remove", "--scope", "user", key} },
}

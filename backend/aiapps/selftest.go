package aiapps

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
	"github.com/forevervm/desktop/backend/aiapps/safefile"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/iox"
)

// testWithin is how long a test may take: the daemon may have to be started first.
const testWithin = 90 * time.Second

// tester is how a test names itself to the server.
const tester = "ForeverVM's test"

// Test starts what an app's file says, as the app does, and has it answer a tool. The error is a
// sentence for the person.
func (m *Manager) Test(ctx context.Context, id string) (api.AppTest, error) {
	app, err := m.app(id)
	if err != nil {
		return api.AppTest{}, err
	}
	for _, at := range m.config.Computer.places(app) {
		file, err := safefile.Read(at.file)
		if err != nil {
			return api.AppTest{}, m.explain(app, at.file, err)
		}
		found, err := m.entries(app, file.Data)
		if err != nil {
			return api.AppTest{}, m.explain(app, at.file, err)
		}
		if found.ours != nil {
			return m.start(ctx, app, found.ours.Entry)
		}
	}
	return api.AppTest{}, &Error{Kind: ErrNotConnected, Message: fmt.Sprintf("%s is not connected, so there is nothing to test; `forevervm connect %s` connects it.", app.Name, app.ID)}
}

func (m *Manager) start(ctx context.Context, app App, entry configfile.Object) (api.AppTest, error) {
	ctx, cancel := context.WithTimeout(ctx, testWithin)
	defer cancel()
	s := server(entry)
	said := &iox.Tail{}
	fail := func(what string, err error) (api.AppTest, error) {
		message := fmt.Sprintf("%s cannot use ForeverVM: %s (%v). `forevervm repair %s` may mend it; `forevervm doctor` looks further.", app.Name, what, err, app.ID)
		if lines := strings.Split(strings.TrimSpace(said.String()), "\n"); lines[len(lines)-1] != "" {
			message += " It said: " + lines[len(lines)-1]
		}
		return api.AppTest{}, &Error{Kind: ErrFile, Message: message, Cause: err}
	}
	begun := time.Now()
	stdio := transport.NewStdioWithOptions(s.Program, nil, s.Args, transport.WithCommandStderrWriter(said),
		transport.WithCommandFunc(func(ctx context.Context, program string, _, args []string) (*exec.Cmd, error) {
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Env = m.environment(entry)
			return cmd, nil
		}))
	c := client.NewClient(stdio)
	if err := c.Start(ctx); err != nil {
		return fail("its program "+s.Program+" does not start", err)
	}
	defer func() { _ = c.Close() }() // how the program ends is not what is tested
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: tester, Version: "1"}
	info, err := c.Initialize(ctx, hello)
	if err != nil {
		return fail("its program does not answer", err)
	}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return fail("its program offers no tools", err)
	}
	call := mcp.CallToolRequest{}
	call.Params.Name = "list-python-repls"
	answer, err := c.CallTool(ctx, call)
	if err == nil && answer.IsError {
		err = fmt.Errorf("%v", mcp.GetTextFromContent(answer.Content[0]))
	}
	if err != nil {
		return fail("a tool fails", err)
	}
	return api.AppTest{Version: info.ServerInfo.Version, Tools: len(tools.Tools), TookMS: float64(time.Since(begun).Microseconds()) / 1000}, nil
}

// environment is what a program that an app starts finds: the few variables that apps hand on, and
// those of the entry.
func (m *Manager) environment(entry configfile.Object) []string {
	names := []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
	if m.config.Computer.System == windows {
		// No LOCALAPPDATA and no ProgramFiles: Claude Desktop leaves them out.
		names = []string{"APPDATA", "HOMEDRIVE", "HOMEPATH", "PATH", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"}
	}
	var env []string
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, key := range []string{"env", "envs", "environment"} {
		value, _ := entry.Get(key)
		variables, _ := value.(configfile.Object)
		for _, variable := range variables {
			if text, ok := variable.Value.(string); ok {
				env = append(env, variable.Key+"="+text)
			}
		}
	}
	return env
}

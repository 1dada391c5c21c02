//go:build linux && real

package hosted_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect/connecttest"
	"github.com/forevervm/desktop/backend/credentials"
	"github.com/forevervm/desktop/backend/credentials/keyringtest"
	"github.com/forevervm/desktop/backend/wire"
)

// The service is a daemon of our own in another process, and so is the computer that is signed in
// with it: both as people run them.
var (
	service  *connecttest.Daemon
	computer *connecttest.Daemon
	between  *proxy // between them
)

func TestMain(m *testing.M) { os.Exit(connecttest.Main(m)) }

// start starts them, and signs in.
func start(t *testing.T) *client.Client {
	t.Helper()
	keyring, err := keyringtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := keyring.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv(keyringtest.Variable, keyring.Address)
	t.Setenv(credentials.TokenVariable, "")
	t.Setenv("HOME", t.TempDir())
	service = connecttest.Start(t, connecttest.Home(t))
	between = newProxy(t, service.URL)
	trusted := filepath.Join(t.TempDir(), "trusted.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: between.own.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", trusted)
	computer = connecttest.Start(t, connecttest.Home(t))
	c := computer.Client("test")
	t.Cleanup(c.Close)
	now, err := c.SignIn(t.Context(), api.HostedLogin{Server: between.url, Token: service.Token + "\n"})
	if err != nil || !now.SignedIn || now.Account != "local" || now.Server != between.url || strings.Contains(fmt.Sprint(now), service.Token) {
		t.Fatalf("signed in: %+v, %v", now, err)
	}
	return c
}

// A tour through what a person does with an account. What the tour needs to start is dear, so its
// stations share it.
func TestHostedMachines(t *testing.T) {
	c, ctx, tour := start(t), t.Context(), t
	t.Run("an AI app is offered what some machine can do", func(t *testing.T) {
		prefer := func(where any) {
			t.Helper()
			if _, err := c.ChangeSettings(ctx, map[string]any{"new_machines": where}); err != nil {
				t.Fatal(err)
			}
		}
		app := aiApp(t)
		const common, here = "run-python-in-repl", "checkpoint-python-repl compare-checkpoints rewind-python-repl manage-python-repl put-file get-file"
		if tools := app.tools(); !tools[common] || !tools["manage-python-repl"] {
			t.Errorf("for machines here it is offered %v", tools)
		}
		prefer("hosted")
		defer prefer(nil)
		tools := app.tools()
		for _, name := range strings.Fields(here) {
			if tools[name] {
				t.Errorf("%s is offered, and there is no machine for it", name)
			}
		}
		if !tools[common] {
			t.Errorf("it is offered %v", tools)
		}
	})
	local, err := c.CreateMachine(ctx, api.NewMachine{Name: "mine", Engine: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	far, err := c.CreateMachine(ctx, api.NewMachine{Engine: "hosted", Tags: map[string]string{"k": "v"}})
	if err != nil || far.Engine != "hosted" || far.Tags["k"] != "v" {
		t.Fatalf("made %+v, %v", far, err)
	}
	there := service.Client("test").Wire()

	t.Run("the list holds both, and those made elsewhere", func(t *testing.T) {
		elsewhere, err := there.New(ctx, wire.NewMachine{})
		if err != nil {
			t.Fatal(err)
		}
		connecttest.Eventually(t, "the machine that was made elsewhere is listed", func() bool {
			page, err := c.Machines(ctx, client.MachineFilter{})
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]string{}
			for _, m := range page.Items {
				found[m.Name] = m.Engine
			}
			return found[elsewhere] == "hosted" && found[far.Name] == "hosted" && found[local.Name] != "" && found[local.Name] != "hosted"
		})
		if page, err := c.Machines(ctx, client.MachineFilter{Engine: "hosted", Tags: map[string]string{"k": "v"}}); err != nil || len(page.Items) != 1 {
			t.Errorf("filtered: %+v, %v", page, err)
		}
	})

	t.Run("code runs there, is recorded here, and can be followed", func(t *testing.T) {
		in, _, err := c.Execute(ctx, far.Name, api.Execute{Code: "import sys\nfor i in range(3): print('line', i)\nprint('ü', file=sys.stderr)\n6 * 7"})
		if err != nil {
			t.Fatal(err)
		}
		var text string
		done, err := c.Follow(ctx, far.Name, in.Seq, 0, func(item api.Item) error {
			if item.Stream == "stdout" || item.Text != "ü\n" {
				text += item.Text
			}
			return nil
		})
		if err != nil || done.Status != "ok" || done.Value == nil || *done.Value != "42" || text != "line 0\nline 1\nline 2\n" || done.OutputBytes != 24 {
			t.Errorf("%q, %+v, %v", text, done, err)
		}
		if page, err := c.Instructions(ctx, far.Name, client.InstructionQuery{}); err != nil || len(page.Items) != 1 || page.Items[0].Client.Name != "test" {
			t.Errorf("history: %+v, %v", page, err)
		}
		if m, err := c.Machine(ctx, far.Name); err != nil || m.Client == nil || m.Client.Name != "test" || m.DerivedTitle != "for i in range(3): print('line', i)" {
			t.Errorf("it is used as %+v, %v", m, err)
		}
		if hits, err := c.Search(ctx, "line", "", "", 0); err != nil || len(hits.Items) == 0 || hits.Items[0].Machine != far.Name {
			t.Errorf("found: %+v, %v", hits, err)
		}
		if out, err := c.Output(ctx, far.Name, in.Seq); err != nil {
			t.Error(err)
		} else {
			_ = out.Close()
		}
	})

	t.Run("a picture comes along", func(t *testing.T) {
		in, _, err := c.Execute(ctx, far.Name, api.Execute{Code: "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"})
		if err != nil {
			t.Fatal(err)
		}
		done, err := c.Wait(ctx, far.Name, in.Seq)
		if err != nil || len(done.Data) != 1 || done.Data[0].MIME != "image/png" {
			t.Fatalf("%+v, %v", done, err)
		}
		if png, err := c.Data(ctx, done.Data[0], 1<<20); err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
			t.Errorf("%d bytes, %v", len(png), err)
		}
	})

	t.Run("the public protocol reaches it through this computer", func(t *testing.T) {
		repl, err := c.Wire().Repl(ctx, far.Name)
		if err != nil {
			t.Fatal(err)
		}
		defer repl.Close()
		if _, result, err := repl.Exec(ctx, wire.Instruction{Code: "print('a')\n1/0"}, func(wire.Chunk) error { return nil }); err != nil || result.Error == nil || !strings.Contains(*result.Error, "ZeroDivisionError") {
			t.Errorf("%+v, %v", result, err)
		}
	})

	t.Run("an AI app uses it through this computer, and is told what it is", func(t *testing.T) {
		app := aiApp(t)
		if said := app.call("run-python-in-repl", map[string]any{"replId": far.Name, "pythonCode": "6 * 7"}); said.IsError || text(said) != "42" {
			t.Errorf("it is told %q", text(said))
		}
		if said := app.call("list-python-repls", map[string]any{"search": far.Name}); !strings.Contains(text(said), ", hosted") {
			t.Errorf("it is told %q", text(said))
		}
		if said := app.call("manage-python-repl", map[string]any{"replId": far.Name, "action": "fork"}); !said.IsError || !strings.Contains(text(said), "hosted service cannot") {
			t.Errorf("a fork: %q", text(said))
		}
	})

	t.Run("what ran elsewhere is told", func(t *testing.T) {
		sent, err := there.Exec(ctx, far.Name, wire.Exec{Instruction: wire.Instruction{Code: "'from afar'"}})
		if err != nil {
			t.Fatal(err)
		}
		in, _, err := c.Execute(ctx, far.Name, api.Execute{Code: "1"})
		if err != nil || in.Seq != sent.InstructionSeq+1 || !strings.Contains(in.Notice, "elsewhere") {
			t.Errorf("%+v, %v", in, err)
		}
		if result, err := c.Wire().Result(ctx, far.Name, sent.InstructionSeq); err != nil || result.Value == nil || *result.Value != "'from afar'" {
			t.Errorf("its result, asked for here: %+v, %v", result, err)
		}
		if _, err := c.Instruction(ctx, far.Name, 1000, 0); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("one that nobody has sent: %v", err)
		}
	})

	t.Run("what runs is stopped", func(t *testing.T) {
		// That the first of two is over is not known here yet when the second is stopped.
		if _, _, err := c.Execute(ctx, far.Name, api.Execute{Code: "import time"}); err != nil {
			t.Fatal(err)
		}
		in, _, err := c.Execute(ctx, far.Name, api.Execute{Code: "time.sleep(600)", TimeoutSeconds: 900})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Stop(ctx, far.Name, in.Seq); err != nil {
			t.Fatal(err)
		}
		if done, err := c.Wait(ctx, far.Name, in.Seq); err != nil || done.Status != "error" || done.ErrorName != "KeyboardInterrupt" {
			t.Errorf("%+v, %v", done, err)
		}
	})

	t.Run("what the service cannot do is refused with a sentence", func(t *testing.T) {
		title := "x"
		_, fork := c.Fork(ctx, far.Name, api.NewMachine{})
		_, checkpoint := c.Checkpoint(ctx, far.Name, "")
		_, variables := c.Variables(ctx, far.Name)
		_, named := c.CreateMachine(ctx, api.NewMachine{Engine: "hosted", Name: "my-own"})
		_, taken := c.CreateMachine(ctx, api.NewMachine{Name: far.Name})
		_, update := c.UpdateMachine(ctx, far.Name, api.MachineChange{Title: &title})
		_, files := c.ListFiles(ctx, far.Name, "")
		_, network := c.Network(ctx, far.Name)
		_, rewind := c.Rewind(ctx, far.Name, api.Rewind{Checkpoint: "x"})
		_, swap := c.Swap(ctx, far.Name)
		_, wake := c.Wake(ctx, far.Name)
		for what, err := range map[string]error{
			"fork": fork, "checkpoint": checkpoint, "variables": variables, "a name": named, "change": update,
			"delete": c.DeleteMachine(ctx, far.Name), "files": files, "put": c.PutFile(ctx, far.Name, "x", strings.NewReader("")),
			"network": network, "rewind": rewind, "branch": c.DeleteBranch(ctx, far.Name, "x"), "swap": swap, "wake": wake,
		} {
			if !errors.Is(err, client.ErrConflict) || !strings.Contains(err.Error(), "hosted service cannot") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if !errors.Is(taken, client.ErrNameTaken) {
			t.Errorf("the name of a hosted machine: %v", taken)
		}
	})

	t.Run("new machines go where the settings say", func(t *testing.T) {
		if _, err := c.ChangeSettings(ctx, map[string]any{"new_machines": "hosted"}); err != nil {
			t.Fatal(err)
		}
		name, err := c.Wire().New(ctx, wire.NewMachine{})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := c.Machine(ctx, name); err != nil || m.Engine != "hosted" {
			t.Errorf("%+v, %v", m, err)
		}
		if _, err := c.ChangeSettings(ctx, map[string]any{"new_machines": nil}); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a service that is away affects nothing here", func(t *testing.T) {
		between.stop()
		if _, _, err := c.Execute(ctx, far.Name, api.Execute{Code: "1"}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "not affected") && !strings.Contains(err.Error(), "not known") {
			t.Errorf("there: %v", err)
		}
		in, _, err := c.Execute(ctx, local.Name, api.Execute{Code: "'here'"})
		if err == nil {
			in, err = c.Wait(ctx, local.Name, in.Seq)
		}
		if err != nil || in.Status != "ok" {
			t.Errorf("here: %+v, %v", in, err)
		}
		connecttest.Eventually(t, "it is told that the service is away", func() bool {
			now, err := c.Hosted(ctx)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = c.Machines(ctx, client.MachineFilter{})
			return strings.Contains(now.Problem, "not affected")
		})
		between.listen(tour)
		connecttest.Eventually(t, "it is told that the service is back", func() bool {
			_, _ = c.Machines(ctx, client.MachineFilter{})
			now, err := c.Hosted(ctx)
			return err == nil && now.Problem == ""
		})
	})

	t.Run("on a bad network nothing is lost, and nothing runs twice", func(t *testing.T) {
		number := 28
		if given, err := strconv.Atoi(os.Getenv("FOREVERVM_INSTRUCTIONS")); err == nil {
			number = given // make soak
		}
		for _, by := range []string{"a socket", "this computer"} {
			name, err := there.New(ctx, wire.NewMachine{})
			if err != nil {
				t.Fatal(err)
			}
			connecttest.Eventually(t, "the machine is listed", func() bool {
				_, _ = c.Machines(ctx, client.MachineFilter{}) // which has it looked up
				_, err := c.Machine(ctx, name)
				return err == nil
			})
			missed := 0 // that it was told of
			run := func(code string) (string, error) {
				in, _, err := c.Execute(ctx, name, api.Execute{Code: code, TimeoutSeconds: 600})
				missed += notShown(t, in.Notice)
				if err == nil {
					in, err = c.Wait(ctx, name, in.Seq)
				}
				if err != nil || in.Value == nil {
					return in.Error, err
				}
				return *in.Value, nil
			}
			if by == "a socket" {
				direct := client.New(between.url, service.Token, client.Options{Name: "test", HTTPClient: between.client(t)})
				defer direct.Close()
				repl, err := direct.Wire().Repl(ctx, name)
				if err != nil {
					t.Fatal(err)
				}
				defer repl.Close()
				run = func(code string) (string, error) {
					seq, result, err := repl.Exec(ctx, wire.Instruction{Code: code}, func(wire.Chunk) error { return nil })
					missed += repl.Missed()
					for err != nil && seq >= 0 && ctx.Err() == nil { // it was taken, so that its result can be asked for by its number
						result, err = direct.Wire().Result(ctx, name, seq)
					}
					if err != nil || result.Value == nil {
						return fmt.Sprint(result.Error), err
					}
					return *result.Value, nil
				}
			}
			if value, err := run("ran = []\n0"); err != nil || value != "0" {
				t.Fatalf("%q, %v", value, err)
			}
			answered, unknown := map[int]bool{}, map[int]bool{}
			for i := range number {
				between.set(&faults[i%len(faults)])
				value, err := run(fmt.Sprintf("ran.append(%d)\nprint('x' * 100)\n%d", i, i))
				switch {
				case err == nil && value == strconv.Itoa(i):
					answered[i] = true
				case err == nil:
					t.Errorf("instruction %d has the result %q", i, value)
				case strings.Contains(err.Error(), "not known"):
					unknown[i] = true
				}
			}
			between.set(clear)
			between.copies.Wait()
			if value, err := run("0"); err != nil || value != "0" { // after which it is told of all
				t.Fatalf("%q, %v", value, err)
			}
			sent, err := there.Exec(ctx, name, wire.Exec{Instruction: wire.Instruction{Code: "' '.join(map(str, ran))"}})
			if err != nil {
				t.Fatal(err)
			}
			result, err := there.Result(ctx, name, sent.InstructionSeq)
			if err != nil || result.Value == nil {
				t.Fatalf("%+v, %v", result, err)
			}
			times := map[int]int{}
			for _, text := range strings.Fields(strings.Trim(*result.Value, "'")) {
				i, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				times[i]++
			}
			silent, twice := -missed, 0
			for i := range number {
				if unknown[i] && times[i] > 0 {
					silent++
				}
				if times[i] > 1 {
					silent += times[i] - 1
					twice++
				}
				switch {
				case answered[i] && times[i] == 0:
					t.Errorf("by %s, instruction %d was answered but did not run", by, i)
				case !answered[i] && !unknown[i] && times[i] > 0:
					t.Errorf("by %s, instruction %d ran although it was said not to", by, i)
				}
			}
			if silent > 0 { // fewer are no harm: one that was stopped before it noted that it ran counts as missed
				t.Errorf("by %s, of %d that ran unknown or twice it was not told (%d missed)", by, silent, missed)
			}
			if len(answered) < number/2 || between.spoilt.Load() == 0 {
				t.Errorf("by %s, only %d of %d were answered; %d pieces were spoilt", by, len(answered), number, between.spoilt.Load())
			}
			t.Logf("by %s: %d answered, %d unknown, %d doubled on the way, of %d; %d pieces spoilt", by, len(answered), len(unknown), twice, number, between.spoilt.Load())
		}
	})

	t.Run("a daemon that is killed goes on with what runs", func(t *testing.T) {
		in, _, err := c.Execute(ctx, far.Name, api.Execute{Code: "import os, time\nprint('one', flush=True)\nwhile not os.path.exists('/tmp/go'): time.sleep(0.05)\nprint('two')\n'end'", TimeoutSeconds: 600})
		if err != nil {
			t.Fatal(err)
		}
		connecttest.Eventually(t, "the first line is recorded", func() bool {
			page, err := c.Items(ctx, far.Name, in.Seq, 0, 10)
			return err == nil && len(page.Items) == 1
		})
		computer.Kill()
		if err := service.Client("test").PutFile(ctx, far.Name, "/tmp/go", strings.NewReader("")); err != nil {
			t.Fatal(err)
		}
		computer = connecttest.Start(tour, computer.Home)
		c = computer.Client("test")
		tour.Cleanup(c.Close)
		if now, err := c.Hosted(ctx); err != nil || !now.SignedIn { // who asks at once is told who was signed in
			t.Errorf("%+v, %v", now, err)
		}
		var text string
		done, err := c.Follow(ctx, far.Name, in.Seq, 0, func(item api.Item) error { text += item.Text; return nil })
		if err != nil || text != "one\ntwo\n" || done.Value == nil || *done.Value != "'end'" {
			t.Errorf("%q, %+v, %v", text, done, err)
		}
	})

	t.Run("the token is nowhere", func(t *testing.T) { nowhere(t, computer, service.Token) })

	t.Run("signing out takes the machines off the list", func(t *testing.T) {
		now, err := c.SignOut(ctx)
		if err != nil || now.SignedIn {
			t.Fatalf("%+v, %v", now, err)
		}
		if _, err := c.Machine(ctx, far.Name); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("it is still there: %v", err)
		}
		if _, err := c.SignOut(ctx); !errors.Is(err, client.ErrConflict) {
			t.Errorf("once more: %v", err)
		}
		if _, err := c.CreateMachine(ctx, api.NewMachine{Engine: "hosted"}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "sign in") {
			t.Errorf("a new one there: %v", err)
		}
		if m, err := service.Client("test").Machine(ctx, far.Name); err != nil || m.State == "deleted" {
			t.Errorf("at the service: %+v, %v", m, err)
		}
	})

	t.Run("a wrong token is refused", func(t *testing.T) {
		for _, token := range []string{"", "nonsense", "wrong.token", computer.Token} {
			if now, err := c.SignIn(ctx, api.HostedLogin{Server: between.url, Token: token}); !errors.Is(err, client.ErrInvalid) || now.SignedIn {
				t.Errorf("%q: %+v, %v", token, now, err)
			}
		}
	})
}

// faults come one after another.
var faults = []fault{
	{drop: 0.1}, {cut: 0.1}, {garbage: 0.1}, {double: 0.3}, {untrusted: 0.5, drop: 0.1}, {delay: 2 * time.Millisecond, drop: 0.05}, {trickle: true, cut: 0.02},
}

var others = regexp.MustCompile(`(\d+|a) steps? ran on this machine that`)

// notShown is of how many instructions a notice says that they are not shown.
func notShown(t *testing.T, notice string) int {
	t.Helper()
	found := others.FindStringSubmatch(notice)
	switch {
	case found == nil:
		return 0
	case found[1] == "a":
		return 1
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// app is an AI app that speaks to the computer over HTTP.
type app struct {
	t      *testing.T
	client *mcpclient.Client
}

func aiApp(t *testing.T) *app {
	t.Helper()
	c, err := mcpclient.NewStreamableHttpClient(computer.URL+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + computer.Token}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION, ClientInfo: mcp.Implementation{Name: "an app", Version: "1"},
	}}); err != nil {
		t.Fatal(err)
	}
	return &app{t, c}
}

// tools are the names of those that it is offered.
func (a *app) tools() map[string]bool {
	a.t.Helper()
	list, err := a.client.ListTools(a.t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		a.t.Fatal(err)
	}
	names := map[string]bool{}
	for _, tool := range list.Tools {
		names[tool.Name] = true
	}
	return names
}

func (a *app) call(name string, arguments map[string]any) *mcp.CallToolResult {
	a.t.Helper()
	said, err := a.client.CallTool(a.t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name, Arguments: arguments}})
	if err != nil {
		a.t.Fatal(err)
	}
	return said
}

// text is what a model is told.
func text(said *mcp.CallToolResult) string {
	var all strings.Builder
	for _, item := range said.Content {
		if part, ok := item.(mcp.TextContent); ok {
			all.WriteString(part.Text)
		}
	}
	return all.String()
}

// nowhere looks for the token of the hosted service in every file of the computer's home, its
// database and log among them, and of the person's, and in arguments and environments of every
// process; and sees that no core dump can hold it. The service itself, which keeps its own token in
// a file, is another home.
func nowhere(t *testing.T, computer *connecttest.Daemon, token string) {
	t.Helper()
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", computer.PID))
	if err != nil || !regexp.MustCompile(`(?m)^Max core file size +1 `).Match(limits) {
		t.Errorf("the computer's daemon may dump its memory: %v\n%s", err, limits)
	}
	for _, text := range []string{token, token[strings.IndexByte(token, '.')+1:]} {
		files := 0
		for _, folder := range []string{computer.Home, os.Getenv("HOME")} {
			err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return nil //nolint:nilerr // files come and go
				}
				data, err := os.ReadFile(path)
				files++
				if err == nil && strings.Contains(string(data), text) {
					t.Errorf("%s holds the token", path)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if files == 0 {
			t.Error("no file could be looked at")
		}
		processes, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			t.Fatal(err)
		}
		looked := false
		for _, process := range processes {
			if filepath.Base(process) == strconv.Itoa(os.Getpid()) {
				continue
			}
			for _, file := range []string{"cmdline", "environ"} {
				data, err := os.ReadFile(filepath.Join(process, file))
				looked = looked || err == nil
				if err == nil && strings.Contains(string(data), text) {
					t.Errorf("%s/%s holds the token", process, file)
				}
			}
		}
		if !looked {
			t.Error("no process could be looked at")
		}
	}
}

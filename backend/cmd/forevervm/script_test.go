//go:build linux && real

package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/connect/connecttest"
	"github.com/forevervm/desktop/backend/credentials/keyringtest"
	"github.com/forevervm/desktop/backend/wire"
)

func TestMain(m *testing.M) { os.Exit(connecttest.Main(m)) }

// The scripts drive the real program, each over a home of its own, whose daemon the first command
// starts.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(connecttest.Program(t, "forevervm"))
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			folder := filepath.Join(env.WorkDir, ".home")
			env.Setenv("FOREVERVM_HOME", folder)
			env.Setenv("FOREVERVM_BASE_URL", "")
			env.Setenv("FOREVERVM_TOKEN", "")
			env.Setenv(keyringtest.Variable, "unix:path=/none") // a script that wants a keyring says so
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Defer(func() {
				if err := connecttest.End(folder); err != nil {
					t.Error(err)
				}
			})
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":      status,
			"keep":        keep,
			"json":        onlyJSON,
			"waitrunning": waitRunning(t),
			"waitblocks":  waitBlocks(t),
			"keyring":     keyring(t),
			"service":     service(t),
			"elsewhere":   elsewhere(t),
		},
	})
}

// status runs a program and checks its exit status: status 2 forevervm exec …; its output is there
// for stdout and stderr.
func status(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM ARGUMENT…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case err == nil && want == 0:
	case errors.As(err, &exit) && exit.ExitCode() == want:
	default:
		ts.Fatalf("it ended with %v, want status %d", err, want)
	}
}

// keep puts what the last program printed into a variable: keep NAME.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: keep NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// onlyJSON runs the program with --json and checks that it succeeds and prints JSON documents
// alone: json forevervm ….
func onlyJSON(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: json PROGRAM ARGUMENT…")
	}
	ts.Check(ts.Exec(args[0], append([]string{"--json"}, args[1:]...)...))
	documents := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	for n := 0; ; n++ {
		var document map[string]any
		switch err := documents.Decode(&document); {
		case errors.Is(err, io.EOF) && n > 0:
			return
		case err != nil:
			ts.Fatalf("after %d documents: %v", n, err)
		}
	}
}

// Whatever command is added is run with --json too.
func TestEveryCommandIsAskedForJSON(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "script", "json.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" { // writes scripts for shells
			return
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		switch cmd.Name() {
		case "mcp", "serve": // speak JSON in any case, each a protocol of its own
			return
		case "manual", "apply", "push": // are for packaging, for the update and for a registry, which this test has not
			return
		}
		if cmd.Runnable() && !regexp.MustCompile(`(?m)^json `+cmd.CommandPath()+`( |$)`).Match(script) {
			t.Errorf("%s is not in json.txtar", cmd.CommandPath())
		}
	}
	check(new(app).root())
}

// waitRunning waits until code runs on a machine: waitrunning NAME.
func waitRunning(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		connecttest.Eventually(t, "code runs on "+args[0], func() bool {
			ts.Check(ts.Exec("forevervm", "--json", "machine", "list", "--state", "running"))
			return strings.Contains(ts.ReadFile("stdout"), `"`+args[0]+`"`)
		})
	}
}

// keyring gives the script a keyring of its own: keyring.
func keyring(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		k, err := keyringtest.Start()
		ts.Check(err)
		ts.Defer(func() {
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		})
		ts.Setenv(keyringtest.Variable, k.Address)
	}
}

// service starts what stands in for the hosted service, a daemon over another home: service. Its
// address is in $SERVICE, its token in $SERVICE_TOKEN and in the file token. What it does not do,
// giving accounts, does another at $SIGNUP: it knows the person who asks for the account "taken".
func service(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		d := connecttest.Start(t, connecttest.Home(t))
		ts.Setenv("SERVICE", d.URL)
		ts.Setenv("SERVICE_TOKEN", d.Token)
		ts.Check(os.WriteFile(ts.MkAbs("token"), []byte(d.Token+"\n"), 0o600))
		signup := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var asked wire.Signup
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Method+" "+r.URL.Path != "POST /internal/signup" || asked.Email != "ada@example.com" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			if asked.AccountName == "taken" {
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, `{"code": "AccountNameAlreadyExists", "id": null}`)
				return
			}
			_, _ = io.WriteString(w, "{}")
		}))
		ts.Defer(signup.Close)
		ts.Setenv("SIGNUP", signup.URL)
	}
}

// elsewhere gives the script another home in $ELSEWHERE, as on another computer: elsewhere.
func elsewhere(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		folder := ts.MkAbs(".elsewhere")
		ts.Setenv("ELSEWHERE", folder)
		ts.Defer(func() {
			if err := connecttest.End(folder); err != nil {
				t.Error(err)
			}
		})
	}
}

// waitBlocks waits until a checkpoint is kept as blocks: waitblocks.
func waitBlocks(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		connecttest.Eventually(t, "a checkpoint is kept as blocks", func() bool {
			ts.Check(ts.Exec("forevervm", "checkpoints", "check"))
			return !strings.HasPrefix(ts.ReadFile("stdout"), "0 checkpoints")
		})
	}
}

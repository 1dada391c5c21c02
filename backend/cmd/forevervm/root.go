package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/version"
)

// The program's exit statuses.
const (
	statusRaised = 1 // the code that was run raised an error
	statusFailed = 2 // usage, connection, or something that the daemon refused
)

// errRaised ends the program with statusRaised; what was raised has been shown.
var errRaised = errors.New("the code raised an error")

// app is what the commands share.
type app struct {
	home string
	json bool

	in       io.Reader
	out, err io.Writer

	// onInterrupt, when set, is called at Ctrl-C in place of ending the program.
	onInterrupt atomic.Pointer[func()]
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, interrupts <-chan os.Signal, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{in: in, out: out, err: errOut}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() { a.handleInterrupts(ctx, cancel, interrupts) })
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errRaised):
		return statusRaised
	}
	a.complain(err)
	return statusFailed
}

// handleInterrupts ends the program at Ctrl-C, unless a command has other plans.
func (a *app) handleInterrupts(ctx context.Context, end func(), interrupts <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-interrupts:
			if handle := a.onInterrupt.Load(); handle != nil {
				(*handle)()
			} else {
				end()
			}
		}
	}
}

// complain shows an error: a sentence, or with --json the document of the API's errors.
func (a *app) complain(err error) {
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if !a.json {
		fmt.Fprintln(a.err, "forevervm:", err)
		return
	}
	document := api.Error{Code: "Failed", Message: err.Error()}
	var said *client.Error
	if errors.As(err, &said) && said.Code != "" {
		document.Code = said.Code
	}
	if encodeErr := json.NewEncoder(a.err).Encode(document); encodeErr != nil {
		fmt.Fprintln(a.err, "forevervm:", err)
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "forevervm",
		Short:         "Python machines that keep their state",
		Long:          "ForeverVM runs Python in sandboxed machines on this computer. A machine keeps its variables and files.\nAI apps, programs and this command line share the machines.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version.Version,
	}
	root.PersistentFlags().StringVar(&a.home, "home", "", "keep every file of ForeverVM under this folder (also: FOREVERVM_HOME)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON documents instead of text")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; `%s --help` says more", err, cmd.CommandPath())
	})
	root.AddCommand(
		a.serveCommand(), a.mcpCommand(), a.tokenCommand(), a.peopleCommand(), a.secretCommand(), a.placesCommand(), a.kubernetesCommand(), a.recordCommand(), a.openCommand(),
		a.signupCommand(), a.loginCommand(), a.logoutCommand(), a.whoamiCommand(),
		a.machineCommand(), a.replCommand(), a.execCommand(), a.exportCommand(), a.copyCommand(),
		a.appsCommand(), a.connectCommand(), a.disconnectCommand(), a.repairCommand(), a.installCommand(),
		a.searchCommand(), a.settingsCommand(), a.doctorCommand(), a.checkpointsStoreCommand(), a.enginesCommand(), a.versionCommand(),
		a.backupCommand(), a.storageCommand(), a.updateCommand(), a.stopCommand(), a.uninstallCommand(), a.manualCommand(),
	)
	root.InitDefaultCompletionCmd()
	explain(root)
	return root
}

// connect returns a client of the daemon, which is started if none runs.
func (a *app) connect(ctx context.Context) (*client.Client, error) {
	return connect.Daemon(ctx, a.connection())
}

func (a *app) connection() connect.Options {
	return connect.Options{Home: a.home, Name: "forevervm CLI", Notice: func(sentence string) { fmt.Fprintln(a.err, sentence) }}
}

// print writes a document as JSON, or lets text write it for people.
func (a *app) print(document any, text func(w io.Writer)) error {
	if !a.json {
		text(a.out)
		return nil
	}
	encoder := json.NewEncoder(a.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// atTerminal says whether a person sits at both ends.
func (a *app) atTerminal() bool { return isTerminal(a.in) && isTerminal(a.out) }

// agrees asks the person at the terminal.
func (a *app) agrees(question string, about ...any) bool {
	fmt.Fprintf(a.out, question+" [y/N] ", about...)
	var answer string
	_, err := fmt.Fscanln(a.in, &answer)
	return err == nil && (strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"))
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// colours says whether colours may be written to a stream (no-color.org).
func colours(stream any) bool { return isTerminal(stream) && os.Getenv("NO_COLOR") == "" }

// tags reads key=value arguments.
func tags(pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is not a tag: write it as key=value", pair)
		}
		out[key] = value
	}
	return out, nil
}

// completeMachine completes the name of a machine as the first argument. It starts no daemon.
func (a *app) completeMachine(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	c, err := connect.Running(cmd.Context(), a.connection())
	if err != nil || c == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	page, err := c.Machines(cmd.Context(), client.MachineFilter{Limit: 1000})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, m := range page.Items {
		if strings.HasPrefix(m.Name, prefix) {
			names = append(names, cobra.CompletionWithDesc(m.Name, titleOf(m)))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reeflective/readline"
	"github.com/spf13/cobra"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/home"
)

// completeWithin is how long a person waits for Tab.
const completeWithin = 2 * time.Second

func (a *app) replCommand() *cobra.Command        { return a.repl("repl [NAME]") }
func (a *app) machineReplCommand() *cobra.Command { return a.repl("repl [NAME]") }

func (a *app) repl(use string) *cobra.Command {
	var timeout float64
	cmd := &cobra.Command{
		Use: use, Short: "Talk Python to a machine, a new one if none is named", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeMachine,
		Long: "Talk Python to a machine, a new one if none is named. Tab completes, Ctrl-C interrupts what runs, Ctrl-D leaves;\nthe machine and everything in it stays. Plots are saved in the present folder. Without a terminal, standard input is run as it would be typed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return errors.New("--instruction-timeout-seconds must be positive")
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			var m api.Machine
			if len(args) > 0 {
				m, err = c.Machine(cmd.Context(), args[0])
			} else {
				m, err = c.CreateMachine(cmd.Context(), api.NewMachine{})
			}
			if err != nil {
				return err
			}
			t := &talk{app: a, client: c, machine: m.Name, timeout: timeout}
			if !a.atTerminal() {
				return t.script(cmd.Context())
			}
			fmt.Fprintf(a.out, "This is %s. Ctrl-D leaves; the machine stays, and `forevervm repl %[1]s` comes back to it.\n", m.Name)
			return t.prompt(cmd.Context())
		},
	}
	cmd.Flags().Float64Var(&timeout, "instruction-timeout-seconds", 15, "stop an instruction after so many seconds of running")
	return cmd
}

// talk is a conversation with one machine.
type talk struct {
	app     *app
	client  *client.Client
	machine string
	timeout float64
}

// say runs one piece of code and shows it. That the code raised an error is no error of the conversation.
func (t *talk) say(ctx context.Context, code string) (ok bool, err error) {
	x := &execution{app: t.app, client: t.client, plots: ".", quiet: t.app.json}
	in, err := x.run(ctx, t.machine, api.Execute{Code: code, TimeoutSeconds: t.timeout})
	if err != nil {
		return false, err
	}
	if t.app.json {
		err = t.app.print(executed{Instruction: in, Output: x.output.String(), Plots: x.saved}, nil)
	}
	return in.Status == "ok", err
}

// script runs what comes on standard input, piece by piece.
func (t *talk) script(ctx context.Context) error {
	lines := bufio.NewScanner(t.app.in)
	lines.Buffer(nil, 16<<20)
	var code string
	allOK := true
	run := func() error {
		if strings.TrimSpace(code) == "" {
			return nil
		}
		ok, err := t.say(ctx, code)
		allOK = allOK && ok
		code = ""
		return err
	}
	for lines.Scan() {
		if code != "" {
			code += "\n"
		}
		code += lines.Text()
		if complete(code) {
			if err := run(); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(lines.Err(), run()); err != nil {
		return err
	}
	if !allOK {
		return errRaised
	}
	return nil
}

// prompt talks with the person until they leave.
func (t *talk) prompt(ctx context.Context) error {
	shell := readline.NewShell()
	shell.Prompt.Primary(func() string { return ">>> " })
	shell.Prompt.Secondary(func() string { return "... " })
	shell.AcceptMultiline = func(line []rune) bool { return complete(string(line)) }
	shell.Completer = func(line []rune, cursor int) readline.Completions { return t.complete(ctx, line, cursor) }
	if err := t.remember(shell); err != nil {
		fmt.Fprintln(t.app.err, "forevervm: the history is not kept:", err)
	}
	for ctx.Err() == nil {
		code, err := shell.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if strings.TrimSpace(code) == "" {
			continue
		}
		if _, err := t.say(ctx, code); err != nil {
			// Whoever pressed Ctrl-C twice wants the prompt back; everything else may be over next time.
			t.app.complain(err)
		}
	}
	return ctx.Err()
}

// complete asks the machine what could stand at the cursor.
func (t *talk) complete(ctx context.Context, line []rune, cursor int) readline.Completions {
	// Tab at the beginning of a line indents it.
	if before := string(line[:cursor]); strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:]) == "" {
		return readline.CompleteValues("    ").NoSpace()
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	found, err := t.client.Complete(ctx, t.machine, string(line), cursor)
	if err != nil {
		return readline.CompleteMessage("%v", err)
	}
	if found.Start < 0 || found.Start > cursor {
		return readline.Completions{}
	}
	matches := make([]string, len(found.Matches))
	for i, match := range found.Matches {
		matches[i] = printable(match)
	}
	values := readline.CompleteValues(matches...).NoSpace()
	values.PREFIX = string(line[found.Start:cursor])
	return values
}

// remember keeps what is typed in a file for the next time.
func (t *talk) remember(shell *readline.Shell) error {
	dirs, err := home.Resolve(t.app.home)
	if err != nil {
		return err
	}
	if err := dirs.Make(); err != nil {
		return err
	}
	path := filepath.Join(dirs.Config, "repl-history")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	history, err := readline.NewHistoryFromFile(path)
	if err != nil {
		return err
	}
	shell.History.Delete()
	shell.History.Add("history", history)
	return nil
}

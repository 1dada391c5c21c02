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
		Use: use, Short: "Type Python into a machine, or into a new one", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeMachine,
		Long: "Type Python into a machine, or into a new one if you name none. Tab completes, Ctrl-C interrupts what runs, Ctrl-D leaves;\nthe machine and everything in it stays. Plots are saved in the present folder. Without a terminal, standard input is run as it would be typed.",
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

// say runs one piece of code and shows it. That the code raised an error is no error of the
// conversation.
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
	var code string // the lines before the one that is typed
	lines, err := t.history()
	if err != nil {
		fmt.Fprintln(t.app.err, "forevervm: the history is not kept:", err)
	}
	in, ok := t.app.in.(*os.File)
	if !ok {
		return errors.New("standard input is no terminal")
	}
	editor := newEditor(in, t.app.out, lines, func(line string, cursor int) ([]string, int, error) {
		return t.complete(ctx, code, line, cursor)
	})
	for {
		prompt := ">>> "
		if code != "" {
			prompt = "... "
		}
		line, pasted, err := editor.line(ctx, prompt)
		switch {
		case errors.Is(err, errCleared):
			code = ""
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if code != "" {
			code += "\n"
		}
		code += line
		// What is pasted may have empty lines inside of a block: it runs when the person presses
		// Enter after it.
		if pasted || !complete(code) {
			continue
		}
		if strings.TrimSpace(code) != "" {
			if _, err := t.say(ctx, code); err != nil {
				// Anyone who pressed Ctrl-C twice wants the prompt back; everything else may be
				// over next time.
				t.app.complain(err)
			}
		}
		code = ""
	}
}

// complete asks the machine what could stand at the cursor (in bytes) of a line that follows other
// lines.
func (t *talk) complete(ctx context.Context, before, line string, cursor int) (matches []string, start int, err error) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	if before != "" {
		before += "\n"
	}
	// The machine counts code points from the beginning of the code.
	offset := len([]rune(before))
	found, err := t.client.Complete(ctx, t.machine, before+line, offset+len([]rune(line[:cursor])))
	if err != nil {
		return nil, 0, err
	}
	runes := []rune(line)
	if found.Start < offset || found.Start-offset > len(runes) {
		return nil, 0, nil
	}
	for _, match := range found.Matches {
		matches = append(matches, printable(match))
	}
	return matches, len(string(runes[:found.Start-offset])), nil
}

// history is what was typed to machines before; it is usable even with an error.
func (t *talk) history() (*history, error) {
	dirs, err := home.Resolve(t.app.home)
	if err == nil {
		err = dirs.Make()
	}
	if err != nil {
		return &history{}, err
	}
	return openHistory(filepath.Join(dirs.Config, "repl-history"))
}

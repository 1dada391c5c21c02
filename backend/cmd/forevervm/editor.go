package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/term"
)

// errCleared says that the person pressed Ctrl-C at the prompt: what was typed is to be forgotten.
var errCleared = errors.New("cleared")

// completer returns what could stand at a cursor (in bytes) in a line: the matches, and where in
// the line they begin.
type completer func(line string, cursor int) (matches []string, start int, err error)

// editor reads lines from a person at a terminal, with history and completion. It is
// golang.org/x/term's line editor: it redraws no more than it must, so that slow connections and
// programs that watch the terminal get along with it.
type editor struct {
	in       *os.File
	out      io.Writer
	history  *history
	complete completer

	terminal  *term.Terminal
	cleared   atomic.Bool // Ctrl-C was read
	typing    atomic.Bool // the terminal is in raw mode
	requested chan string // prompts, for the goroutine that reads
	lines     chan typed
}

// typed is a line, or why there is none.
type typed struct {
	line   string
	pasted bool
	err    error
}

// newEditor returns an editor and starts what reads for it. That goroutine ends with the process: a
// read from a terminal cannot be broken off.
func newEditor(in *os.File, out io.Writer, history *history, complete completer) *editor {
	e := &editor{in: in, out: out, history: history, complete: complete, requested: make(chan string), lines: make(chan typed)}
	go func() {
		for prompt := range e.requested {
			e.lines <- e.read(prompt)
		}
	}()
	return e
}

// line reads one line. The error is io.EOF for Ctrl-D, errCleared for Ctrl-C, or ctx's.
func (e *editor) line(ctx context.Context, prompt string) (line string, pasted bool, err error) {
	was, err := term.MakeRaw(int(e.in.Fd()))
	if err != nil {
		return "", false, err
	}
	e.typing.Store(true)
	defer func() {
		e.typing.Store(false)
		err = errors.Join(err, term.Restore(int(e.in.Fd()), was))
	}()
	e.requested <- prompt
	select {
	case <-ctx.Done():
		return "", false, ctx.Err()
	case got := <-e.lines:
		return got.line, got.pasted, got.err
	}
}

func (e *editor) read(prompt string) typed {
	if e.terminal == nil {
		e.terminal = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{watched{e.in, &e.cleared}, e.out}, prompt)
		e.terminal.History = e.history
		e.terminal.AutoCompleteCallback = e.key
	}
	e.terminal.SetPrompt(prompt)
	if width, height, err := term.GetSize(int(e.in.Fd())); err == nil && width > 0 {
		_ = e.terminal.SetSize(width, height) // never fails
	}
	e.terminal.SetBracketedPasteMode(true)
	defer e.terminal.SetBracketedPasteMode(false)
	line, err := e.terminal.ReadLine()
	switch {
	case err == nil:
		return typed{line: line}
	case errors.Is(err, term.ErrPasteIndicator):
		return typed{line: line, pasted: true}
	}
	// The terminal's editor takes Ctrl-C for the end, and keeps what it had: the next line needs a
	// new one.
	e.terminal = nil
	fmt.Fprint(e.out, "\r\n")
	if errors.Is(err, io.EOF) && e.cleared.Swap(false) {
		err = errCleared
	}
	return typed{err: err}
}

// watched notes when Ctrl-C is read.
type watched struct {
	from    io.Reader
	cleared *atomic.Bool
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if strings.IndexByte(string(p[:n]), 3) >= 0 {
		w.cleared.Store(true)
	}
	return n, err
}

// key completes at Tab. It inserts what all matches share; where that is nothing more than there
// was, it shows them.
func (e *editor) key(line string, cursor int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	before, after := line[:cursor], line[cursor:]
	if strings.TrimSpace(before) == "" {
		return before + "    " + after, cursor + 4, true
	}
	matches, start, err := e.complete(line, cursor)
	if err != nil {
		fmt.Fprintf(e.terminal, "(%v)\n", err)
		return "", 0, false
	}
	if len(matches) == 0 || start < 0 || start > cursor {
		return line, cursor, true
	}
	common := matches[0]
	for _, match := range matches[1:] {
		for !strings.HasPrefix(match, common) {
			common = common[:len(common)-1]
		}
	}
	common = strings.ToValidUTF8(common, "")
	if len(matches) > 1 && len(common) <= cursor-start {
		e.show(matches)
		return line, cursor, true
	}
	return line[:start] + common + after, start + len(common), true
}

// maxShown is how many completions are shown; more nobody reads.
const maxShown = 100

// show lists completions above the line that is edited.
func (e *editor) show(matches []string) {
	width, _, err := term.GetSize(int(e.in.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	column := 0
	for _, match := range matches[:min(len(matches), maxShown)] {
		column = max(column, len([]rune(match))+2)
	}
	perLine := max(1, width/max(1, column))
	var out strings.Builder
	for i, match := range matches[:min(len(matches), maxShown)] {
		fmt.Fprintf(&out, "%-*s", column, match)
		if (i+1)%perLine == 0 {
			out.WriteByte('\n')
		}
	}
	if more := len(matches) - maxShown; more > 0 {
		fmt.Fprintf(&out, "… and %d more", more)
	}
	fmt.Fprintln(e.terminal, strings.TrimRight(out.String(), "\n"))
}

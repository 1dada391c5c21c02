package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// step is one command, with how its report is read; without a report its exit status alone counts.
type step struct {
	name   string
	dir    string // in the checkout
	env    []string
	args   []string
	report report
	// behind says that later stages do not wait for it.
	behind bool
	// lacks says why it cannot run here. That is no failure, but one test that is skipped.
	lacks string
}

// report is how a test runner is told where to write what became of each test, and how that is
// read.
type report struct {
	variable string // a format of the path, as an environment variable
	read     func(path string) ([]outcome, error)
}

var (
	goReport     = report{"GOTESTSUM_JSONFILE=%s", readGo}
	pageReport   = report{"FOREVERVM_TEST_REPORT=%s", readPage}
	pytestReport = report{"PYTEST_ADDOPTS=--junitxml=%s", readPytest}
)

// result is what became of a step.
type result struct {
	step     string
	took     time.Duration
	err      error
	outcomes []outcome
}

type runner struct {
	root    string
	reports string // a folder for reports
	out     *lines
}

func (r *runner) stages(ctx context.Context, stages []stage) []result {
	var behind sync.WaitGroup
	var results [][]result
	for _, steps := range stages {
		done := make([]result, len(steps))
		results = append(results, done)
		var group sync.WaitGroup
		for i, s := range steps {
			waits := &group
			if s.behind {
				waits = &behind
			}
			waits.Go(func() { done[i] = r.step(ctx, s) })
		}
		group.Wait()
		if ctx.Err() != nil {
			break
		}
	}
	behind.Wait()
	return slices.Concat(results...)
}

func (r *runner) step(ctx context.Context, s step) result {
	began := time.Now()
	path := filepath.Join(r.reports, strings.ReplaceAll(s.name, " ", "-"))
	prefix := &prefixed{name: s.name, to: r.out}
	if s.lacks != "" {
		fmt.Fprintln(prefix, "not run:", s.lacks)
		return result{step: s.name, outcomes: []outcome{{Name: "(all)", File: s.name, State: skipped, Reason: s.lacks}}}
	}
	fmt.Fprintln(prefix, "$", strings.Join(short(s.args), " "))
	cmd := exec.CommandContext(ctx, s.args[0], s.args[1:]...)
	cmd.Dir = filepath.Join(r.root, s.dir)
	cmd.Env = append(os.Environ(), s.env...)
	if s.report.variable != "" {
		cmd.Env = append(cmd.Env, fmt.Sprintf(s.report.variable, path))
	}
	cmd.Stdout, cmd.Stderr = prefix, prefix
	// Ctrl-C reaches all that a step started, as in a terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	prefix.flush()
	done := result{step: s.name, took: time.Since(began), err: err}
	if s.report.read != nil {
		var readErr error
		if done.outcomes, readErr = s.report.read(path); readErr != nil && err == nil {
			done.err = readErr
		}
		if done.err == nil && len(done.outcomes) == 0 {
			done.err = errors.New("no test ran")
		}
	}
	fmt.Fprintf(prefix, "%s after %s\n", verdict(done), seconds(done.took))
	return done
}

func verdict(r result) string {
	if r.err != nil {
		return "FAILED (" + r.err.Error() + ")"
	}
	return "ok"
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Round(time.Second).Seconds())) + " s" }

// short leaves out the middle of long arguments.
func short(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		if len(arg) > 100 {
			arg = arg[:60] + "…" + arg[len(arg)-20:]
		}
		shown[i] = arg
	}
	return shown
}

// lines takes whole lines from several steps.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) write(name string, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(text) {
		fmt.Fprintf(l.to, "%-10s | %s\n", name, bytes.TrimRight(line, "\r\n"))
	}
}

// prefixed puts a step's name before each of its lines.
type prefixed struct {
	name string
	to   *lines
	rest []byte
}

func (p *prefixed) Write(text []byte) (int, error) {
	p.rest = append(p.rest, text...)
	if end := bytes.LastIndexByte(p.rest, '\n'); end >= 0 {
		p.to.write(p.name, p.rest[:end+1])
		p.rest = append([]byte(nil), p.rest[end+1:]...)
	}
	return len(text), nil
}

func (p *prefixed) flush() {
	p.to.write(p.name, p.rest)
	p.rest = nil
}

// Command suite runs the project's checks and tests, and ends with what ran, how long it took, and
// what was skipped and why. The Makefile calls it: `make check`, `make test`, `make test-all`,
// `make test-kubernetes`, `make ci`, `make soak`.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// errFailed needs no words after the summary, which comes last.
var errFailed = errors.New("failed")

func main() {
	err := run(os.Args[1:])
	if err != nil && !errors.Is(err, errFailed) {
		fmt.Fprintln(os.Stderr, "suite:", err)
	}
	if err != nil {
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 || suites[args[0]] == nil {
		return fmt.Errorf("usage: suite %s", strings.Join(slices.Sorted(maps.Keys(suites)), "|"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := os.Getwd() // make starts it in the checkout's root
	if err != nil {
		return err
	}
	plan, err := newPlan(root)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "forevervm-suite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	began := time.Now()
	r := &runner{root: root, reports: folder, out: &lines{to: os.Stdout}}
	results := r.stages(ctx, suites[args[0]](plan))
	if err := ctx.Err(); err != nil {
		return err
	}
	s := summary{name: args[0], results: results, took: time.Since(began)}
	fmt.Print(s.text())
	if !s.ok() {
		return errFailed
	}
	return nil
}

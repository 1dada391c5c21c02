// Command suite runs the project's checks and tests, and ends with what ran, how long it took, and
// what was skipped and why. The Makefile calls it: `make check`, `make test`, `make test-all`,
// `make soak`.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
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
	root, err := checkout()
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

// checkout is the nearest folder above that has the module's go.mod.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "wails.json")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("this is not a checkout: no wails.json above %s", dir)
		}
		dir = up
	}
}

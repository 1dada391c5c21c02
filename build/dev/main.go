// Command dev runs ForeverVM from source, for people who work on it. One address shows the page
// with hot reload. The daemon behind it has a home of its own; a change to its sources builds and
// restarts it. `make dev` starts this program in the root of the repository.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/home"
)

const (
	usual   = "127.0.0.1:5173" // the page's address; where it is taken, a free one
	folder  = "build/cache/dev/home"
	program = "build/bin/forevervm"
	goodbye = 5 * time.Second // for vite to end
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "make dev:", err)
		os.Exit(1)
	}
}

// run runs vite, the daemon and the front until ctx ends or one of them fails; then it ends all.
func run(ctx context.Context) error {
	dirs, err := home.Resolve(folder)
	if err != nil {
		return err
	}
	executable, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", usual)
	if err != nil {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	vite, err := freeAddress()
	if err != nil {
		return err
	}
	watcher, err := watch("backend")
	if err != nil {
		return err
	}
	defer watcher.Close()
	d := daemon{
		dirs: dirs, page: "http://" + listener.Addr().String(),
		options: connect.Options{Home: folder, Name: "dev", Executable: executable},
	}
	changes := make(chan struct{}, 1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serve(ctx, listener, newFront(dirs, vite)) })
	group.Go(func() error { return runVite(ctx, vite) })
	group.Go(func() error { return follow(ctx, watcher, changes) })
	group.Go(func() error { return d.run(ctx, changes) })
	go d.inviteOnEnter(ctx) // reads the terminal, which nothing interrupts
	return group.Wait()
}

// freeAddress is where vite can listen.
func freeAddress() (*url.URL, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}, nil
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.Serve(listener)
}

// runVite serves the page's sources at an address until ctx ends.
func runVite(ctx context.Context, at *url.URL) error {
	cmd := exec.CommandContext(ctx, "node_modules/.bin/vite",
		"--host", at.Hostname(), "--port", at.Port(), "--strictPort", "--clearScreen", "false", "--logLevel", "warn")
	cmd.Dir = "frontend"
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = goodbye
	return fmt.Errorf("vite has ended: %w", cmp.Or(cmd.Run(), errors.New("exit status 0")))
}

// daemon is the daemon of a home, which is built and started again and again.
type daemon struct {
	dirs    home.Dirs
	page    string // the page's address
	options connect.Options
}

// run builds and starts the daemon, and again after each change, until ctx ends; then it ends the
// daemon. Where the new one cannot be built, the old one goes on.
func (d *daemon) run(ctx context.Context, changes <-chan struct{}) error {
	defer d.stop()
	for first := true; ; first = false {
		began := time.Now()
		err := d.replace(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			say("The daemon was not replaced: %v. Change a file to try again.", err)
		case first:
			d.invite(ctx)
		default:
			say("The daemon was built and restarted in %.1f s.", time.Since(began).Seconds())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		}
	}
}

// replace builds the daemon, and starts it in place of the one that runs. Make does not build the
// page for it, which vite serves.
func (d *daemon) replace(ctx context.Context) error {
	build := exec.CommandContext(ctx, "make", "--silent", "--old-file=frontend/dist/index.html", program, "build/bin/supervisor")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("the build has failed (%w)", err)
	}
	d.stop()
	client, err := connect.Daemon(ctx, d.options)
	if err != nil {
		return err
	}
	client.Close()
	return nil
}

// stop ends the daemon and returns when it has saved its machines. One that an earlier run has left
// ends, too.
func (d *daemon) stop() {
	if _, err := connect.Stop(context.Background(), d.options); err != nil { // the run may have ended
		say("%v.", err)
	}
}

// invite prints an address that lets a browser in.
func (d *daemon) invite(ctx context.Context) {
	code, err := d.openCode(ctx)
	if err != nil {
		say("%v.", err)
		return
	}
	say("Open %s/#open=%s\nIt works once, within a minute. Press Enter for another, Ctrl-C to end.\nThe daemon's log is %s.", d.page, code, d.dirs.LogFile())
}

func (d *daemon) openCode(ctx context.Context) (string, error) {
	client, err := connect.Daemon(ctx, d.options) // starts it, if it has crashed
	if err != nil {
		return "", err
	}
	defer client.Close()
	return client.OpenCode(ctx)
}

func (d *daemon) inviteOnEnter(ctx context.Context) {
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		d.invite(ctx)
	}
}

func say(format string, args ...any) { fmt.Printf("\n"+format+"\n", args...) }

// Command extension is the server in Claude Desktop's extension (build/mcpb). It hands over to the
// ForeverVM that is installed on this computer, so that the extension need not be updated with it.
// Where none is, it is an MCP server itself, whose every tool says so and what to do.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/mcpserver"
	"github.com/forevervm/desktop/backend/version"
)

func main() {
	program, err := installed()
	if program != "" {
		err = become(program, "mcp") // returns only where that fails
	}
	if err := explain(program, err); err != nil {
		fmt.Fprintln(os.Stderr, "forevervm:", err)
		os.Exit(1)
	}
}

// installed is the program that was installed here and started once, or one that a shell would
// find; "" for none.
func installed() (string, error) {
	dirs, err := home.Resolve("")
	if err != nil {
		return "", err
	}
	if program := dirs.Program(); program != "" {
		return program, nil
	}
	program, err := exec.LookPath("forevervm")
	if errors.Is(err, exec.ErrNotFound) {
		return "", nil
	}
	return program, err
}

// explain serves tools that say why there are no machines.
func explain(program string, failure error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	nowhere := client.New("", "", client.Options{Name: "forevervm extension", Version: version.Version,
		Locate: func(context.Context, *client.Endpoint) (client.Endpoint, error) {
			return client.Endpoint{}, reason(program, failure)
		}})
	server := mcpserver.New(func(name, clientVersion string) mcpserver.Machines { return nowhere.As(name, clientVersion) },
		mcpserver.Options{Version: version.Version, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	defer server.Close()
	err := server.ServeStdio(ctx, os.Stdin, os.Stdout)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // told to end
	}
	return err
}

// reason is what a model is told, and tells the person.
func reason(program string, failure error) error {
	const again = "Then quit Claude Desktop, from its tray or menu too, and start it again."
	now, _ := installed() // it may have come since
	switch {
	case failure != nil:
		return fmt.Errorf("ForeverVM does not start (%w), so no Python can be run. Ask the user to install ForeverVM Desktop again and to start it once. %s", failure, again)
	case program == "" && now != "":
		return errors.New("ForeverVM is installed now, but was not when this extension started. Ask the user to quit Claude Desktop, from its tray or menu too, and to start it again.")
	}
	return errors.New("ForeverVM Desktop is not installed on this computer, or was never started, so no Python can be run. Ask the user to install it and to start it once. " + again)
}

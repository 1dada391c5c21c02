// Command forevervm is the command line of ForeverVM Desktop: it runs the daemon, bridges AI apps
// to it over MCP, and makes, uses and looks after machines.
//
// Its exit status is 0 when all went well, 1 when the code that was run raised an error, and 2 for
// everything else.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	status := run(ctx, interrupts, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// Command hostile stands for a container's supervisor that means harm.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/forevervm/desktop/backend/engine/enginetest/hostile"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

func main() {
	signal.Ignore(syscall.SIGTERM)
	cfg, err := sandbox.Parse(os.Args[2:])
	if err == nil {
		err = hostile.Serve(cfg, protocol.Stdio(os.Stdin, os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Command pause is process 1 of each pod's sandbox: it holds the pod's name spaces, and its
// neighbours' orphans become its children where a pod shares its processes.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGCHLD) // the kernel then keeps no dead child
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}

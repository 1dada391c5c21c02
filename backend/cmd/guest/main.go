//go:build linux

// Command guest is the first process of the virtual machine that machines live in where the
// computer runs no Linux. It loads the kernel's modules, mounts the disks, starts the agent
// (backend/cmd/agent) when the computer asks for one, and turns the power off when that asks for it
// or is gone.
//
// It runs from an initial file system (build/guest) and has nothing else: no shell, no other
// program, no network. All that it says goes to the console, which the computer keeps.
package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/engine/remote/vm/control"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: this program is the first of a virtual machine, and of no use elsewhere")
		os.Exit(1)
	}
	g := &guest{boot: bootID(), heard: time.Now(), agent: agent{children: children{waiting: map[int]chan<- unix.WaitStatus{}, reaped: make(chan struct{}, 1)}}}
	err := g.prepare()
	if err != nil { // there are no lines to tell of it yet
		say("this virtual machine cannot start: %v", err)
		off()
	}
	go g.children.reap()
	go g.listen()
	if err := g.mountDisks(); err != nil {
		say("no machine can live here: %v", err)
		g.fail("The virtual machine cannot use its disks: " + err.Error() + ".")
	} else {
		g.succeed()
	}
	g.watch() // until the power goes
}

// say tells the console.
func say(format string, args ...any) {
	line := []byte("guest: " + fmt.Sprintf(format, args...) + "\n")
	if _, err := os.Stderr.Write(line); err != nil {
		if log, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0); err == nil {
			_, _ = log.Write(line)
			log.Close()
		}
	}
}

// off turns the power off.
func off() {
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		say("the power stays on: %v", err)
	}
	select {} // the first process must not end
}

// bootID is what the kernel calls this start.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(b))
}

// alone is how long it goes on without an order (see control.Alone).
func alone() time.Duration {
	line, _ := os.ReadFile("/proc/cmdline")
	for word := range bytes.FieldsSeq(line) {
		if value, ok := bytes.CutPrefix(word, []byte(control.Alone+"=")); ok {
			if seconds, err := strconv.Atoi(string(value)); err == nil && seconds > 0 {
				return time.Duration(seconds) * time.Second
			}
		}
	}
	return 5 * time.Minute
}

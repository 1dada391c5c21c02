//go:build linux

package main

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// endPoll is how often the first process looks whether the others have ended.
	endPoll = 50 * time.Millisecond
	// alone is how long it runs without an agent: the daemon may have been killed. lookEvery is how
	// often it looks whether there is one.
	alone     = 5 * time.Minute
	lookEvery = 10 * time.Second
)

// beFirst is what the first process of a pod does. Agents come into the pod from outside, as
// programs that the cluster runs in it, and nobody else would tell them that the pod is to end.
// They save their machines then. It returns when nothing else runs, and where no agent has come for
// long.
func beFirst() {
	end, child := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(end, unix.SIGTERM)
	signal.Notify(child, unix.SIGCHLD)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	seen := time.Now() // when an agent ran last
	for ending := false; !ending; {
		select {
		case <-child: // what agents leave behind is this process's now
			reap()
		case <-look.C:
			if len(processes()) > 0 {
				seen = time.Now()
			}
			ending = time.Since(seen) > alone
		case <-end:
			ending = true
		}
	}
	told := map[int]bool{}
	for {
		reap()
		others := processes()
		if len(others) == 0 {
			return
		}
		for pid, parent := range others {
			if parent == 0 && !told[pid] { // from outside
				told[pid] = unix.Kill(pid, unix.SIGTERM) == nil
			}
		}
		time.Sleep(endPoll) // the kernel tells nobody of the end of a process from outside
	}
}

func reap() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// processes are all others here, each with its parent.
func processes() map[int]int {
	all := map[int]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil { // it has ended
			continue
		}
		// The name, in brackets, may have brackets and spaces itself. State and parent follow.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 || string(fields[0]) == "Z" {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			all[pid] = parent
		}
	}
	return all
}

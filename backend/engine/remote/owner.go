//go:build linux

package remote

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/machine"
)

// ownerName is what a daemon's home is called.
var ownerName = regexp.MustCompile(`^[0-9a-f]{32}$`)

// takeoverPatience bounds how long an earlier agent may take to save its machines and end.
const takeoverPatience = 90 * time.Second

// TakeOver makes this process the one agent of a daemon's home at a place whose data lie in that
// folder, until what it returns is closed. An earlier one, whose pipe may have broken without its
// noticing, is asked to end; its machines are saved.
func TakeOver(data, owner string) (held io.Closer, err error) {
	if !ownerName.MatchString(owner) {
		return nil, machine.Invalid("An agent is told whose it is by 32 hexadecimal digits.")
	}
	folder := filepath.Join(data, "owners")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(folder, owner), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	asked := 0
	err = lock(file, func() {
		if pid := holder(file); pid > 1 && pid != asked && pid != os.Getpid() && sameProgram(pid) {
			asked = pid
			_ = unix.Kill(pid, unix.SIGTERM)
		}
	})
	if err != nil {
		file.Close()
		return nil, err
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(file, "%020d %s", os.Getpid(), pidSpace())
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// lock waits until nobody else holds the lock of that file, and calls waits from time to time. It
// polls, as Linux has no wait for a lock that ends by itself.
func lock(file *os.File, waits func()) error {
	for end := time.Now().Add(takeoverPatience); ; time.Sleep(20 * time.Millisecond) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return &machine.Error{Kind: machine.ErrConflict, Message: "An earlier connection to this place is still saving its machines. Try again in a moment.", Cause: err}
		}
		waits()
	}
}

// locks are files that are locked.
type locks []*os.File

func (l locks) Close() (err error) {
	for _, file := range l {
		err = errors.Join(err, file.Close())
	}
	return err
}

// Alone waits until no agent has machines at a place whose data lie in that folder. None of the
// same owners begins until what it returns is closed.
func Alone(data string) (held io.Closer, err error) {
	files, err := filepath.Glob(filepath.Join(data, "owners", "*"))
	if err != nil {
		return nil, err
	}
	var all locks
	for _, path := range files {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			all = append(all, file)
			err = lock(file, func() {})
		}
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
	}
	return all, nil
}

// sameProgram says whether a process is an agent, also of a version that was replaced.
func sameProgram(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	own, ownErr := os.Executable()
	return err == nil && ownErr == nil && filepath.Base(strings.TrimSuffix(theirs, " (deleted)")) == filepath.Base(own)
}

// holder is the process that holds the lock of that file; 0 where it has no number here, as it is
// in another pod. An earlier version's file has the number alone: that process is taken for one
// from here, as it is where ssh leads.
func holder(file *os.File) int {
	b := make([]byte, 200)
	n, _ := file.ReadAt(b, 0)
	if n < 20 {
		return 0
	}
	if space := string(b[20:n]); space != "" && space != " "+pidSpace() {
		return 0
	}
	pid, _ := strconv.Atoi(string(b[:20]))
	return pid
}

// pidSpace says where this process's number means this process. The numbers of name spaces are
// those of one running system, and several may share the folder.
func pidSpace() string {
	system, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(system)) + " " + space
}

//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestReadSums(t *testing.T) {
	file, sum := filepath.Join(t.TempDir(), "sums"), strings.Repeat("0a", 32)
	if known, err := readSums("", "/parts"); err != nil || known != nil {
		t.Errorf("without a file: %v, %v", known, err)
	}
	if _, err := readSums(file, "/parts"); err == nil {
		t.Error("a file that is not there is taken")
	}
	for content, want := range map[string]string{
		sum + "  image/base.erofs\n": "/parts/image/base.erofs",
		sum + "  ../base.erofs\n":    "", sum + " runsc\n": "", "0a  runsc\n": "", "nonsense\n": "",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := readSums(file, "/parts")
		if (err == nil) != (want != "") || err == nil && known[want] != sum {
			t.Errorf("%q is read as %v, %v", content, known, err)
		}
	}
}

// blocking are files as a process finds them; none of them is closed twice.
var blocking []*os.File

// waiting counts the goroutines of TestClosable that wait for a pipe.
func waiting() (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for one := range strings.SplitSeq(string(stacks), "\n\n") {
		state, calls, _ := strings.Cut(one, "\n")
		waits := strings.Contains(state, "[IO wait") || strings.Contains(state, "[syscall")
		if waits && strings.Contains(calls, "TestClosable") {
			n++
		}
	}
	return n
}

// The end of a pipe ends a Read and a Write that wait for its other end, whatever the pipe is.
func TestClosable(t *testing.T) {
	pipe := func(flags int) func() (int, int, error) {
		return func() (in, out int, err error) {
			var one, other [2]int
			err = errors.Join(unix.Pipe2(one[:], flags), unix.Pipe2(other[:], flags))
			return one[0], other[1], err
		}
	}
	for name, open := range map[string]func() (in, out int, err error){
		"pipes":                   pipe(unix.O_CLOEXEC),
		"pipes that do not block": pipe(unix.O_CLOEXEC | unix.O_NONBLOCK),
		"one socket, as from sshd": func() (in, out int, err error) {
			both, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return 0, 0, err
			}
			out, err = unix.Dup(both[0])
			return both[0], out, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFD, outFD, err := open()
			if err != nil {
				t.Fatal(err)
			}
			found := []*os.File{os.NewFile(uintptr(inFD), "in"), os.NewFile(uintptr(outFD), "out")}
			blocking = append(blocking, found...)
			in, err := closable(inFD, found[0])
			if err != nil {
				t.Fatal(err)
			}
			out, err := closable(outFD, found[1])
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 2)
			go func() {
				_, err := in.Read(make([]byte, 1))
				ended <- err
			}()
			go func() {
				_, err := out.Write(make([]byte, 16<<20)) // more than fits
				ended <- err
			}()
			for end := time.Now().Add(10 * time.Second); waiting() < 2; runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatal("they do not wait")
				}
			}
			if err := errors.Join(in.Close(), out.Close()); err != nil {
				t.Error(err)
			}
			for range 2 {
				select {
				case err := <-ended:
					if !errors.Is(err, os.ErrClosed) {
						t.Errorf("one ended with %v", err)
					}
				case <-time.After(10 * time.Second):
					t.Fatal("one goes on")
				}
			}
		})
	}
}

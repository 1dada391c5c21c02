//go:build linux && system

package localsocket_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/localsocket"
)

// Another user who gets as far as the socket, because somebody opened its folder and its mode, is
// hung up on. The test needs root, to be another user.
func TestAnotherUserIsHungUpOn(t *testing.T) {
	const nobody = 65534
	address := localsocket.Address(folder(t), "")
	greet(t, address)
	for path, mode := range map[string]os.FileMode{filepath.Dir(address): 0o755, address: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	type result struct {
		heard string
		err   error
	}
	results := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread, which is nobody's now, ends with this goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			results <- result{err: errno}
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: address})
		}
		if err != nil {
			results <- result{err: err}
			return
		}
		file := os.NewFile(uintptr(fd), address)
		defer file.Close()
		conn, err := net.FileConn(file)
		if err != nil {
			results <- result{err: err}
			return
		}
		defer conn.Close()
		results <- result{heard: heard(conn)}
	}()
	if got := <-results; got.err != nil || got.heard != "" {
		t.Errorf("heard %q, %v", got.heard, got.err)
	}
}

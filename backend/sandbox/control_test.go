//go:build linux

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a sandbox answers is not trusted: whatever comes, a call ends, and says what is wrong.
func TestCallOfAHostileSandbox(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"well":           {`{"success":true,"err":"","result":{}}`, ""},
		"refused":        {`{"success":false,"err":"no space left on device"}`, "no space left on device"},
		"without words":  {`{"success":false}`, "did not say why"},
		"nothing":        {``, "does not answer"},
		"cut off":        {`{"success":tr`, "does not answer"},
		"another type":   {`{"success":"yes"}`, "does not answer"},
		"without an end": {`{"err":"` + strings.Repeat("x", 2*maxAnswer), "does not answer"},
	} {
		socket := filepath.Join(t.TempDir(), "sock")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan string, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				close(asked)
				return
			}
			defer conn.Close()
			defer close(asked)
			var q struct {
				Method string
				Arg    struct{ Resume bool }
			}
			if json.NewDecoder(conn).Decode(&q) == nil && q.Arg.Resume {
				asked <- q.Method
			}
			_, err = conn.Write([]byte(c.answer))
			if err != nil && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) { // it has heard enough
				t.Errorf("%s: %v", name, err)
			}
		}()
		err = call(t.Context(), socket, methodCheckpoint, checkpointArgs{Resume: true}, os.Stdin)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if got := <-asked; got != methodCheckpoint {
			t.Errorf("%s: it was asked for %q", name, got)
		}
		l.Close()
	}
}

// A sandbox that never answers holds nobody up who has given up.
func TestCallIsGivenUp(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		if conn, err := l.Accept(); err == nil {
			t.Cleanup(func() { conn.Close() })
		}
	}()
	if err := call(ctx, socket, methodCheckpoint, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a call without an answer ends with %v", err)
	}
}

// Nothing is restored from pages that the next checkpoint is being written over.
func TestPagesInUseAreNotRestored(t *testing.T) {
	folder := t.TempDir()
	files, err := openAll(folder, os.O_RDWR|os.O_CREATE, "checkpoint.img", "pages_meta.img", "pages.img")
	defer func() { closeAll(files) }()
	if err == nil {
		err = unix.Flock(int(files[2].Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := restoreInto(t.Context(), folder); err == nil || !strings.Contains(err.Error(), "written over") {
		t.Errorf("it is restored: %v", err)
	}
	if _, err := openAll(folder, os.O_RDONLY, "pages.sum"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

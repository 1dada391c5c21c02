package docker

import (
	"bytes"
	"io"
	"sync"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/pkg/stdcopy"
)

// attached is a container's standard input and output as one connection. Standard error is kept apart.
type attached struct {
	conn   types.HijackedResponse
	stdout *io.PipeReader
	stderr tail
	done   chan struct{} // closed when nothing more comes
}

// attach takes apart what Docker sends as one stream.
func attach(conn types.HijackedResponse) *attached {
	r, w := io.Pipe()
	a := &attached{conn: conn, stdout: r, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		_, err := stdcopy.StdCopy(w, &a.stderr, conn.Reader)
		w.CloseWithError(err)
	}()
	return a
}

func (a *attached) Read(b []byte) (int, error)  { return a.stdout.Read(b) }
func (a *attached) Write(b []byte) (int, error) { return a.conn.Conn.Write(b) }

// Close ends the container's standard input too, as it was opened for one connection only.
func (a *attached) Close() error {
	a.conn.Close()
	_ = a.stdout.Close() // so that who writes to nobody ends
	<-a.done
	return nil
}

// alive says whether the other end is there.
func (a *attached) alive() bool {
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

// tail keeps the last bytes that were written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	const most = 4096
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-most):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.b, nil))
}

package docker

import (
	"io"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/forevervm/desktop/backend/iox"
)

// attached is a container's standard input and output as one connection. Standard error is kept
// apart.
type attached struct {
	conn   types.HijackedResponse
	stdout *io.PipeReader
	stderr iox.Tail
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

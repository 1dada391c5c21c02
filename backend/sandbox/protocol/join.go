package protocol

import (
	"io"
	"net"
	"sync"
)

// Join carries bytes both ways between two streams until both directions have ended, and closes both. A stream's Close ends its one
// direction alone: the other is read on until the far end has closed it, too.
func Join(a, b net.Conn) {
	var wg sync.WaitGroup
	oneWay := func(to, from net.Conn) {
		_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
		to.Close()
	}
	wg.Go(func() { oneWay(a, b) })
	oneWay(b, a)
	wg.Wait()
}

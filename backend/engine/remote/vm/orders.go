//go:build linux || darwin

package vm

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/engine/remote/vm/control"
)

// orders are the line on which a guest is told what to do.
type orders struct {
	conn  net.Conn
	ended chan struct{} // closed when nothing comes any more

	mu      sync.Mutex
	last    int
	waiting map[int]chan control.Report
	told    func(control.Report) // what was not asked for
}

func newOrders(conn net.Conn, told func(control.Report)) *orders {
	// On a serial line, answers to an earlier end may still come.
	first := rand.IntN(1 << 30)
	o := &orders{conn: conn, ended: make(chan struct{}), last: first, waiting: map[int]chan control.Report{}, told: told}
	go o.listen()
	return o
}

func (o *orders) listen() {
	defer close(o.ended)
	for reports := control.NewReader[control.Report](o.conn); ; {
		r, err := reports.Next()
		if err != nil {
			return
		}
		o.mu.Lock()
		waits := o.waiting[r.Number]
		delete(o.waiting, r.Number)
		o.mu.Unlock()
		switch {
		case waits != nil:
			waits <- r
		case r.Number == 0:
			o.told(r)
		}
	}
}

var errHungUp = errors.New("the virtual machine has hung up")

// ask gives an order, and returns what the guest reports.
func (o *orders) ask(ctx context.Context, order control.Order) (control.Report, error) {
	answer := make(chan control.Report, 1)
	o.mu.Lock()
	o.last++
	order.Number, order.Now = o.last, time.Now().UnixNano()
	o.waiting[order.Number] = answer
	_ = o.conn.SetWriteDeadline(time.Now().Add(answerPatience)) // a guest that hangs reads nothing
	err := control.Write(o.conn, order)
	o.mu.Unlock()
	if err != nil {
		return control.Report{}, err
	}
	select {
	case r := <-answer:
		return r, nil
	case <-o.ended:
		return control.Report{}, errHungUp
	case <-ctx.Done():
		o.mu.Lock()
		delete(o.waiting, order.Number)
		o.mu.Unlock()
		return control.Report{}, ctx.Err()
	}
}

// close hangs up, and waits until nothing is told any more.
func (o *orders) close() {
	o.conn.Close()
	<-o.ended
}

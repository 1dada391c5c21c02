// Package egresstest has what tests of other rooms need of egress.
package egresstest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/egress"
	"github.com/forevervm/desktop/backend/machine"
)

// Undialled answers a machine's connections under the default policy, and fails the test when anything is dialled.
func Undialled(t *testing.T) func(net.Conn) {
	return Connect(t, egress.Config{
		Dial: func(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
			t.Errorf("a machine made us dial %s", addr)
			return nil, errors.New("this is a test")
		},
	})
}

// Connect answers a machine's connections under the default policy.
func Connect(t *testing.T, config egress.Config) func(net.Conn) {
	proxy := egress.New(config)
	ctx, cancel := context.WithCancel(context.Background())
	var carried sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		carried.Wait()
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	var last atomic.Int64
	visit := machine.Visit{
		Machine: "test",
		Policy:  func() machine.NetworkPolicy { return machine.NetworkPolicy{Mode: machine.NetworkPublic} },
		Begin: func(host string, port int) machine.Connection {
			return machine.Connection{ID: last.Add(1), Host: host, Port: port, StartedAt: time.Now()}
		},
		Ask:  func(context.Context, machine.Connection) string { return "Nobody is asked in a test." },
		Tell: func(machine.Connection) {},
	}
	return func(conn net.Conn) {
		carried.Add(1)
		defer carried.Done()
		proxy.Carry(ctx, conn, visit)
	}
}

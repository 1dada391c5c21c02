// Package egresstest has what tests of other rooms need of egress.
package egresstest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/egress"
	"github.com/forevervm/desktop/backend/egress/tlstest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/secrets"
	"github.com/forevervm/desktop/backend/secrets/secretstest"
)

// World answers the connections of machines as the daemon does.
type World struct {
	proxy   *egress.Proxy
	visit   machine.Visit
	policy  atomic.Pointer[machine.NetworkPolicy]
	ctx     context.Context
	carried sync.WaitGroup
}

// New makes a world under the default policy, which ends with the test.
func New(t *testing.T, config egress.Config) *World {
	w := &World{proxy: egress.New(config)}
	w.SetPolicy(machine.NetworkPolicy{Mode: machine.NetworkPublic})
	ctx, cancel := context.WithCancel(context.Background())
	w.ctx = ctx
	t.Cleanup(func() {
		cancel()
		w.carried.Wait()
		if err := w.proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	var last atomic.Int64
	w.visit = machine.Visit{
		Machine: "test",
		Policy:  func() machine.NetworkPolicy { return *w.policy.Load() },
		Begin: func(host string, port int) machine.Connection {
			return machine.Connection{ID: last.Add(1), Host: host, Port: port, StartedAt: time.Now()}
		},
		Ask:  func(context.Context, machine.Connection) string { return "" }, // somebody who allows everything
		Tell: func(machine.Connection) {},
	}
	return w
}

// Connect answers one connection of a machine.
func (w *World) Connect(conn net.Conn) {
	w.carried.Add(1)
	defer w.carried.Done()
	w.proxy.Carry(w.ctx, conn, w.visit)
}

// Belongings are what a machine needs for it.
func (w *World) Belongings(machine.ID) (env map[string]string, authorities []byte) {
	return w.proxy.Belongings(w.visit.Machine, w.visit.Owner)
}

// SetPolicy changes what machines may reach.
func (w *World) SetPolicy(p machine.NetworkPolicy) { w.policy.Store(&p) }

// Undialled is a world that fails the test when anything is dialled.
func Undialled(t *testing.T) *World {
	return New(t, egress.Config{
		Packages: t.TempDir(),
		Limits:   egress.Limits{PerSecond: 1000}, // which are tested elsewhere
		Dial: func(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
			t.Errorf("a machine made us dial %s", addr)
			return nil, errors.New("this is a test")
		},
	})
}

// Host is the name of the test's own server.
const Host = "server.example"

// KeyHost is another name of it, which gets the secret SecretName.
const (
	KeyHost     = "keys.example"
	SecretName  = "PROBE_KEY"
	SecretValue = "sk-the-real-one"
)

// Internet is a world that reaches the real internet and, under Host and KeyHost, a server of the
// test's own: HTTPS at port 443, PostgreSQL's protocol at 5432. Its certificates are of an
// authority that only this computer is told of.
func Internet(t *testing.T) *World {
	authority := tlstest.NewAuthority(t)
	kept := secrets.Open(filepath.Join(t.TempDir(), "secrets.json"), secretstest.Keyring{})
	if _, err := kept.Set(SecretName, []string{KeyHost}, nil, SecretValue); err != nil {
		t.Fatal(err)
	}
	ports := serve(t, authority)
	address := netip.MustParseAddr("192.31.196.10") // a sink of DNS, if it were dialled
	resolver := func(ctx context.Context, host string) ([]netip.Addr, error) {
		if host == Host || host == KeyHost {
			return []netip.Addr{address}, nil
		}
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	return New(t, egress.Config{
		Packages: t.TempDir(),
		Secrets:  kept,
		Lookup:   resolver,
		Dial: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			to := addr.String()
			if addr.Addr() == address {
				to = ports[addr.Port()]
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", to)
		},
		ProxyFor: func(r *http.Request) (*url.URL, error) {
			if host := r.URL.Hostname(); host == Host || host == KeyHost {
				return nil, nil
			}
			return http.ProxyFromEnvironment(r)
		},
		Getenv: func(name string) string {
			if name == "SSL_CERT_FILE" {
				return authority.File
			}
			return os.Getenv(name)
		},
	})
}

package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a proxy whose outside is made up: names and addresses lead to servers of the test.
type world struct {
	t     *testing.T
	proxy *Proxy
	url   *url.URL // where the proxy is spoken to

	mu      sync.Mutex
	policy  machine.NetworkPolicy
	names   map[string][]string
	servers map[string]string // address:port to where that really is
	dialled []string
	looked  []string
	told    []machine.Connection
	ask     func(context.Context, machine.Connection) string
	lastID  atomic.Int64
}

func newWorld(t *testing.T, mode machine.NetworkMode, hosts ...string) *world {
	return newWorldWith(t, Config{}, mode, hosts...)
}

// newWorldWith has what the configuration says of secrets and of the environment.
func newWorldWith(t *testing.T, config Config, mode machine.NetworkMode, hosts ...string) *world {
	w := &world{t: t, policy: machine.NetworkPolicy{Mode: mode, Hosts: hosts}, names: map[string][]string{}, servers: map[string]string{}}
	w.proxy = New(Config{
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.looked = append(w.looked, host)
			var found []netip.Addr
			for _, a := range w.names[host] {
				found = append(found, netip.MustParseAddr(a))
			}
			if len(found) == 0 {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return found, nil
		},
		Dial: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			w.mu.Lock()
			w.dialled = append(w.dialled, addr.String())
			real, ok := w.servers[addr.String()]
			w.mu.Unlock()
			if !ok {
				return nil, errors.New("nobody is there")
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", real)
		},
		Interfaces: func() ([]net.Addr, error) {
			return []net.Addr{&net.IPNet{IP: net.ParseIP("203.0.114.7"), Mask: net.CIDRMask(24, 32)}}, nil
		},
		ProxyFor: func(*http.Request) (*url.URL, error) { return nil, nil },
		Getenv: func(name string) string {
			if config.Getenv == nil {
				return ""
			}
			return config.Getenv(name)
		},
		Secrets: config.Secrets,
	})
	w.serve()
	return w
}

// serve takes the connections of a machine, as an engine brings them.
func (w *world) serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var carried sync.WaitGroup
	carried.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			carried.Go(func() { w.proxy.Carry(ctx, conn, w.visit()) })
		}
	})
	w.t.Cleanup(func() {
		listener.Close()
		cancel()
		carried.Wait()
		if err := w.proxy.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.url = &url.URL{Scheme: "http", Host: listener.Addr().String()}
}

func (w *world) visit() machine.Visit {
	return machine.Visit{
		Machine: "m",
		Policy: func() machine.NetworkPolicy {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.policy
		},
		Begin: func(host string, port int) machine.Connection {
			return machine.Connection{ID: w.lastID.Add(1), Host: host, Port: port, StartedAt: time.Now()}
		},
		Ask: func(ctx context.Context, c machine.Connection) string { return w.ask(ctx, c) },
		Tell: func(c machine.Connection) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.told = append(w.told, c)
		},
	}
}

// last waits until the last connection is over, and returns what was told of it.
func (w *world) last() machine.Connection {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		i := slices.IndexFunc(w.told, func(c machine.Connection) bool { return c.ID == w.lastID.Load() && c.State.Over() })
		if i >= 0 {
			defer w.mu.Unlock()
			return w.told[i]
		}
		w.mu.Unlock()
	}
	w.t.Fatalf("the last connection is not over: %+v", w.told)
	return machine.Connection{}
}

// site puts a server at an address, under a name.
func (w *world) site(name, address string, port int, server *httptest.Server) {
	w.names[name] = append(w.names[name], address)
	w.servers[netip.AddrPortFrom(netip.MustParseAddr(address), uint16(port)).String()] = server.Listener.Addr().String()
	w.t.Cleanup(server.Close)
}

func (w *world) client() *http.Client {
	transport := &http.Transport{Proxy: http.ProxyURL(w.url), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the test's own
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

func (w *world) get(address string) (string, error) {
	answer, err := w.client().Get(address)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.StatusCode, " ", string(body)), err
}

func hello(t *testing.T) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Proxy-Authorization") != "" {
			t.Errorf("the server is told %v", r.Header)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(rw, "hello from %s%s%s", r.Host, r.URL.Path, body)
	})
}

func TestPublic(t *testing.T) {
	w := newWorld(t, machine.NetworkPublic)
	w.site("plain.example", "192.31.196.1", 80, httptest.NewServer(hello(t)))
	w.site("safe.example", "2606:4700::1", 443, httptest.NewTLSServer(hello(t)))

	got, err := w.get("http://plain.example/a")
	if err != nil || got != "200 hello from plain.example/a" {
		t.Errorf("plain: %q, %v", got, err)
	}
	if c := w.last(); c.State != machine.ConnectionClosed || c.Host != "plain.example" || c.Port != 80 || c.Address != "192.31.196.1" || c.Sent < 50 || c.Received < 50 {
		t.Errorf("it is recorded as %+v", c)
	}
	client := w.client()
	answer, err := client.Post("https://safe.example/b", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	client.CloseIdleConnections()
	if !strings.HasPrefix(string(body), "hello from safe.example/bxxx") || len(body) < 1<<20 {
		t.Errorf("safe: %.60q", body)
	}
	if c := w.last(); c.Sent < 1<<20 || c.Received < 1<<20 || c.EndedAt == nil {
		t.Errorf("it is recorded as %+v", c)
	}
	for _, scheme := range []string{"socks5", "socks5h"} {
		w.url.Scheme = scheme
		if got, err := w.get("https://safe.example/c"); err != nil || got != "200 hello from safe.example/c" {
			t.Errorf("%s: %q, %v", scheme, got, err)
		}
	}
	w.url.Scheme = "http"
	if got, err := w.get("http://nowhere.example/"); err != nil || !strings.HasPrefix(got, "502 ForeverVM: The name nowhere.example cannot be resolved") {
		t.Errorf("nowhere: %q, %v", got, err)
	}
	if c := w.last(); c.State != machine.ConnectionFailed {
		t.Errorf("it is recorded as %+v", c)
	}
}

// canaries are where nothing of a machine's may ever arrive.
var canaries = []string{
	"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.0.0.1", "127.0.0.1.", "localhost", "LOCALHOST.", "a.localhost", "0.0.0.0", "0",
	"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]",
	"10.0.0.1", "192.168.0.1", "172.16.5.5", "100.64.1.1", "[fd00::1]", "169.254.169.254", "0xa9fea9fe", "2852039166", "[::ffff:a9fe:a9fe]", "[fd00:ec2::254]",
	"metadata.google.internal", "printer.local", "203.0.114.7", "[::ffff:203.0.114.7]", "224.0.0.251", "255.255.255.255",
	"127.0.0.1%00", "127.0.0.1%2f", "%31%32%37.0.0.1", "１２７.０.０.１", "127。0。0。1", "①②⑦.0.0.1", "127.0.0.1\t", "127.0.0.1#", "127.0.0.1?", "127.0.0.1/x",
	"::1", "[::1%25lo]", "[fe80::1%25eth0]", "[0:0:0:0:0:0:0:1]", "[::ffff:0:127.0.0.1]", "[2001:0:a00:1::]", "[2600:5::5efe:a00:1]", "[64:ff9b:1::7f00:1]", "[ff02::1]",
	"00000177.0.0.1", "127.000.000.001", "0x7F.1", "017700000001", "4294967297", "127.0.0.1:80", "user:pw@127.0.0.1", "public.example@127.0.0.1",
	"168.63.129.16", "198.18.0.1", "240.0.0.1", "192.0.0.192", "100.100.100.200",
	"inside.example", "mapped.example", "nat.example", "alias.example", "compatible.example", "sixtofour.example", "isatap.example", "many.example", "zone.example",
}

// However it is asked for, under no policy is anything private reached.
func TestEscapes(t *testing.T) {
	for _, mode := range []machine.NetworkMode{machine.NetworkPublic, machine.NetworkAsk, machine.NetworkList} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t, mode)
			if mode == machine.NetworkList {
				w.policy.Hosts = []string{"*.example", "*"} // wildcards name nothing by hand
			}
			w.policy.Approved = []string{"inside.example", "localhost", "127.0.0.1"}
			w.ask = func(context.Context, machine.Connection) string { return "" } // anyone who is asked says yes
			w.names["inside.example"] = []string{"10.1.2.3"}
			w.names["mapped.example"] = []string{"::ffff:192.168.1.1"}
			w.names["nat.example"] = []string{"64:ff9b::a00:1"}
			w.names["alias.example"] = []string{"127.0.0.1", "::1"} // its CNAME is localhost
			w.names["compatible.example"] = []string{"::127.0.0.1"}
			w.names["sixtofour.example"] = []string{"2002:a00:1::"}
			w.names["isatap.example"] = []string{"2600:5::5efe:a00:1"}
			w.names["zone.example"] = []string{"fe80::1%eth0"}
			for i := range 100 {
				w.names["many.example"] = append(w.names["many.example"], fmt.Sprintf("10.0.0.%d", i))
			}
			w.names["localhost"] = []string{"127.0.0.1"}
			w.names["metadata.google.internal"] = []string{"169.254.169.254"}
			w.names["printer.local"] = []string{"192.168.1.9"}
			for _, host := range canaries {
				for name, ask := range map[string]func(host string) string{"tunnel": w.connect, "request": w.request, "socks": w.socks} {
					if said := ask(host); !strings.HasPrefix(said, "HTTP/1.1 403") && !strings.HasPrefix(said, "HTTP/1.1 400") && said != "\x05\x00\x05\x02" {
						t.Errorf("%s to %s is answered %.80q", name, host, said)
					}
				}
			}
			if len(w.dialled) > 0 {
				t.Errorf("dialled %v", w.dialled)
			}
		})
	}
}

// raw says something to the proxy and returns the beginning of what it answers.
func (w *world) raw(said string) string {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.url.Host)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, said); err != nil {
		w.t.Fatal(err)
	}
	answer, _ := io.ReadAll(io.LimitReader(conn, 12))
	return string(answer)
}

func (w *world) connect(host string) string {
	return w.raw("CONNECT " + host + ":443 HTTP/1.1\r\nHost: public.example\r\n\r\n")
}

func (w *world) request(host string) string {
	return w.raw("GET http://" + host + "/ HTTP/1.1\r\nHost: public.example\r\nX-Forwarded-Host: public.example\r\nConnection: close\r\n\r\n")
}

// socks asks by name, or by address where it is one; only the part of the answer that matters is
// returned.
func (w *world) socks(host string) string {
	said := "\x05\x01\x00\x05\x01\x00"
	bare := strings.Trim(host, "[]")
	switch addr, err := netip.ParseAddr(bare); {
	case err == nil && addr.Is4():
		said += "\x01" + string(addr.AsSlice())
	case err == nil:
		said += "\x04" + string(addr.AsSlice())
	default:
		said += "\x03" + string([]byte{byte(len(bare))}) + bare
	}
	answer := w.raw(said + "\x01\xbb")
	return answer[:min(4, len(answer))]
}

// A name that leads elsewhere when it is asked for again leads where it was checked; and of its
// addresses only those count that may be reached.
func TestRebinding(t *testing.T) {
	w := newWorld(t, machine.NetworkPublic)
	w.site("turn.example", "192.31.196.1", 80, httptest.NewServer(hello(t)))
	w.names["turn.example"] = []string{"127.0.0.1", "10.0.0.1", "192.31.196.1", "::1"}
	if got, err := w.get("http://turn.example/"); err != nil || got != "200 hello from turn.example/" {
		t.Errorf("%q, %v", got, err)
	}
	if !slices.Equal(w.dialled, []string{"192.31.196.1:80"}) || len(w.looked) != 1 {
		t.Errorf("dialled %v, looked up %v", w.dialled, w.looked)
	}
	w.mu.Lock()
	w.names["turn.example"] = []string{"127.0.0.1"}
	w.mu.Unlock()
	if got, err := w.get("http://turn.example/"); err != nil || !strings.HasPrefix(got, "403 ") {
		t.Errorf("the second time: %q, %v", got, err)
	}
	if len(w.dialled) != 1 {
		t.Errorf("dialled %v", w.dialled)
	}
}

// Who speaks SOCKS oddly reaches nothing, and is told so or hung up on.
func TestOddSOCKS(t *testing.T) {
	w := newWorld(t, machine.NetworkPublic)
	w.site("plain.example", "192.31.196.1", 443, httptest.NewServer(hello(t)))
	const greeting, named, port = "\x05\x01\x00", "\x05\x01\x00\x03", "\x01\xbb"
	name := func(host string) string { return string([]byte{byte(len(host))}) + host }
	for what, said := range map[string]string{
		"version 4":               "\x04\x01\x01\xbb\x7f\x00\x00\x01me\x00",
		"version 4a":              "\x04\x01\x01\xbb\x00\x00\x00\x01me\x00localhost\x00",
		"version 6":               "\x06\x01\x00",
		"no method":               "\x05\x00" + named + name("plain.example") + port,
		"a password":              "\x05\x01\x02\x01\x02me\x02pw",
		"every method but none":   "\x05\x03\x01\x02\x80",
		"another version then":    greeting + "\x04\x01\x00\x03" + name("plain.example") + port,
		"a port to listen at":     greeting + "\x05\x02\x00\x01\x7f\x00\x00\x01" + port,
		"packets":                 greeting + "\x05\x03\x00\x01\x7f\x00\x00\x01" + port,
		"an unknown command":      greeting + "\x05\xf0\x00\x03" + name("plain.example") + port,
		"an unknown kind":         greeting + "\x05\x01\x00\x02" + name("plain.example") + port,
		"no name":                 greeting + named + name("") + port,
		"a name with a NUL":       greeting + named + name("plain.example\x00.evil") + port,
		"a NUL, then localhost":   greeting + named + name("\x00localhost") + port,
		"a name with a line feed": greeting + named + name("plain.example\r\nX: y") + port,
		"a name with a port":      greeting + named + name("127.0.0.1:80") + port,
		"a name with a user":      greeting + named + name("plain.example@127.0.0.1") + port,
		"a name with a blank":     greeting + named + name("plain.example 127.0.0.1") + port,
		"a name of 255":           greeting + named + name(strings.Repeat("x", 255)) + port,
		"the port 0":              greeting + named + name("plain.example") + "\x00\x00",
		"bytes that are no text":  greeting + named + name("\xff\xfe") + port,
	} {
		conn, err := net.Dial("tcp", w.url.Host)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(conn, said)
		_ = conn.(*net.TCPConn).CloseWrite() // what is cut off is over
		answer, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) || strings.HasPrefix(string(answer), "\x05\x00\x05\x00") {
			t.Errorf("%s is answered %q, %v", what, answer, err)
		}
		conn.Close()
	}
	if len(w.dialled) > 0 {
		t.Errorf("dialled %v", w.dialled)
	}
	if said := w.socks("plain.example"); said != "\x05\x00\x05\x00" {
		t.Errorf("as it should be: %q", said)
	}
}

// A server cannot send a machine where it may not go, nor can a machine's headers say where a
// request goes.
func TestRedirectsAndHeaders(t *testing.T) {
	w := newWorld(t, machine.NetworkPublic)
	w.site("away.example", "192.31.196.1", 80, httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Host != "away.example" {
			t.Errorf("the server is asked for %q", r.Host)
		}
		http.Redirect(rw, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	})))
	if got, err := w.get("http://away.example/"); err != nil || !strings.HasPrefix(got, "403 ForeverVM: 169.254.169.254 is") {
		t.Errorf("%q, %v", got, err)
	}
	for _, said := range []string{
		"GET http://away.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"GET http://away.example/ HTTP/1.1\r\nHost: away.example\r\nX-Forwarded-For: 127.0.0.1\r\nX-Original-URL: http://127.0.0.1/\r\nConnection: Host\r\nProxy-Authorization: Basic eA==\r\n\r\n",
		"GET http://127.0.0.1@away.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		if answer := w.raw(said); answer != "HTTP/1.1 302" {
			t.Errorf("%q is answered %q", said, answer)
		}
	}
	for _, said := range []string{
		"GET http://away.example@127.0.0.1/ HTTP/1.1\r\nHost: away.example\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "GET https://127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT 127.0.0.1 HTTP/1.1\r\nHost: away.example:80\r\n\r\n", "CONNECT away.example:80@127.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT /away.example HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", "CONNECT away.example:0 HTTP/1.1\r\n\r\n", "CONNECT away.example:99999 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://away.example:80:80/ HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "rubbish\r\n\r\n",
	} {
		if answer := w.raw(said); answer != "HTTP/1.1 403" && answer != "HTTP/1.1 400" && answer != "HTTP/1.1 505" {
			t.Errorf("%q is answered %q", said, answer)
		}
	}
	if i := slices.IndexFunc(w.dialled, func(a string) bool { return a != "192.31.196.1:80" }); i >= 0 {
		t.Errorf("dialled %v", w.dialled)
	}
}

func TestPolicies(t *testing.T) {
	w := newWorld(t, machine.NetworkOff)
	w.site("a.example", "192.31.196.1", 80, httptest.NewServer(hello(t)))
	w.site("nas.home", "192.168.1.5", 80, httptest.NewServer(hello(t)))
	refused := func(what, address, word string) {
		t.Helper()
		if got, err := w.get(address); err != nil || !strings.HasPrefix(got, "403 ") || !strings.Contains(got, word) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
		if c := w.last(); c.State != machine.ConnectionDenied || c.Reason == "" {
			t.Errorf("%s is recorded as %+v", what, c)
		}
	}
	reached := func(what, address string) {
		t.Helper()
		if got, err := w.get(address); err != nil || !strings.HasPrefix(got, "200 ") {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	set := func(mode machine.NetworkMode, hosts ...string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.policy = machine.NetworkPolicy{Mode: mode, Hosts: hosts}
	}
	refused("off", "http://a.example/", "no network")
	set(machine.NetworkList, "b.example", "*.c.example", "a.example:443")
	refused("not listed", "http://a.example/", "not on the list")
	if len(w.looked) > 0 {
		t.Errorf("names were told to the outside that may not be reached: %v", w.looked)
	}
	set(machine.NetworkList, "A.example")
	reached("listed", "http://a.example/")
	set(machine.NetworkList, "*.example:80")
	reached("listed by a wildcard", "http://a.example/")
	set(machine.NetworkList, "192.31.196.0/24")
	reached("its address is listed", "http://192.31.196.1/")
	refused("another's is not", "http://203.0.114.1/", "203.0.114.1")
	looked := len(w.looked)
	refused("a name is not an address", "http://a.example/", "not on the list")
	if len(w.looked) > looked {
		t.Error("a name was looked up that may not be reached")
	}
	set(machine.NetworkPublic)
	refused("private", "http://nas.home/", "private address")
	set(machine.NetworkPublic, "*.home", "*")
	refused("private, by a wildcard", "http://nas.home/", "private address")
	for _, rule := range []string{"nas.home", "192.168.1.5", "192.168.0.0/16:80"} {
		set(machine.NetworkPublic, rule)
		reached("private, by hand: "+rule, "http://nas.home/")
	}

	set(machine.NetworkAsk)
	asked := 0
	w.ask = func(_ context.Context, c machine.Connection) string {
		if asked++; c.Host != "a.example" || c.State != machine.ConnectionAsking {
			t.Errorf("asked about %+v", c)
		}
		return "A person said no."
	}
	looked = len(w.looked)
	refused("asked", "http://a.example/", "A person said no.")
	refused("private", "http://192.168.1.5/", "private address")
	if len(w.looked) > looked {
		t.Error("a name was looked up that nobody has allowed")
	}
	w.ask = func(context.Context, machine.Connection) string { asked++; return "" }
	reached("asked", "http://a.example/")
	refused("private after all", "http://nas.home/", "private address")
	w.policy.Approved = []string{"a.example"}
	reached("approved", "http://a.example/")
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	// What is said in the first line of the answer is all that a person sees.
	set(machine.NetworkOff)
	if _, err := w.get("https://a.example/"); err == nil || !strings.Contains(err.Error(), "This machine has no network") {
		t.Errorf("a tunnel is refused with %v", err)
	}
}

// Behind a proxy of this computer's, names are that proxy's to resolve; what is local is still
// refused.
func TestUpstream(t *testing.T) {
	w := newWorld(t, machine.NetworkPublic)
	asked := make(chan string, 10)
	upstream := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host + " " + r.Header.Get("Proxy-Authorization")
		conn, _, _ := rw.(http.Hijacker).Hijack()
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfar!")
		}
	}))
	t.Cleanup(upstream.Close)
	via, _ := url.Parse(upstream.URL)
	via.User = url.UserPassword("me", "secret")
	w.proxy.config.ProxyFor = func(*http.Request) (*url.URL, error) { return via, nil }
	if got, err := w.get("http://far.example/"); err != nil || got != "200 far!" {
		t.Errorf("%q, %v", got, err)
	}
	if said := <-asked; said != "CONNECT far.example:80 Basic bWU6c2VjcmV0" {
		t.Errorf("the proxy is asked %q", said)
	}
	for _, host := range []string{"127.0.0.1", "10.0.0.1", "localhost", "169.254.169.254", "metadata.google.internal", "2130706433"} {
		if said := w.connect(host); said != "HTTP/1.1 403" {
			t.Errorf("%s: %q", host, said)
		}
	}
	if len(w.dialled)+len(w.looked)+len(asked) > 0 {
		t.Errorf("dialled %v, looked up %v", w.dialled, w.looked)
	}
	if w.proxy.Upstream() != via.Host {
		t.Errorf("the proxy is named %q", w.proxy.Upstream())
	}
}

func TestLimits(t *testing.T) {
	w := newWorld(t, machine.NetworkPublic)
	w.site("a.example", "192.31.196.1", 443, httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		for range 1000 {
			_, _ = rw.Write(make([]byte, 1<<10))
		}
	})))
	limit := func(l Limits) {
		w.proxy.limits.mu.Lock()
		defer w.proxy.limits.mu.Unlock()
		w.proxy.limits.limits = l
	}
	limit(Limits{AtOnce: 3, PerSecond: 1000, PerDay: 20 << 10})
	var open []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", w.url.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")
		if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || answer.StatusCode != 200 {
			t.Fatal(answer, err)
		}
		open = append(open, conn)
	}
	if said := w.connect("a.example"); said != "HTTP/1.1 403" {
		t.Errorf("one too many: %q", said)
	}
	_, _ = io.WriteString(open[0], "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
	if n, _ := io.Copy(io.Discard, open[0]); n > 300<<10 {
		t.Errorf("%d bytes came", n)
	}
	for _, conn := range open {
		conn.Close()
	}
	places := func() int { // once none is taken, nobody reads the limits
		w.proxy.limits.mu.Lock()
		defer w.proxy.limits.mu.Unlock()
		return w.proxy.limits.of("m").open
	}
	for deadline := time.Now().Add(20 * time.Second); places() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("closed connections take places")
		}
	}
	if said := w.connect("a.example"); said != "HTTP/1.1 403" {
		t.Errorf("after too many bytes: %q", said)
	}
	limit(Limits{AtOnce: 3, PerSecond: 1, PerDay: 1 << 40})
	over, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits for a turn
	turns := 0
	for turns < 1000 && w.proxy.limits.wait(over, "other") {
		turns++
	}
	if turns < burst-1 || turns > burst+2 {
		t.Errorf("%d connections come in one go", turns)
	}
	w.proxy.limits.mu.Lock()
	w.proxy.limits.of("m").next = time.Now().Add(time.Hour) // as after very many that did not wait for their turn
	w.proxy.limits.mu.Unlock()
	recorded := w.lastID.Load()
	if said := w.connect("a.example"); said != "HTTP/1.1 403" || w.lastID.Load() != recorded {
		t.Errorf("too fast: %q, and %d are on record", said, w.lastID.Load()-recorded)
	}
}

// What is open when a person takes the network away ends, and says why.
func TestTakenAway(t *testing.T) {
	w := newWorld(t, machine.NetworkPublic)
	w.site("a.example", "192.31.196.1", 443, httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		for _, err := rw.Write(make([]byte, 1<<10)); err == nil; _, err = rw.Write(make([]byte, 1<<10)) {
		}
	})))
	conn, err := net.Dial("tcp", w.url.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(conn, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
	if _, err := io.ReadFull(conn, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.policy.Mode = machine.NetworkOff
	w.mu.Unlock()
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a connection goes on without a network")
	}
	if c := w.last(); c.State != machine.ConnectionClosed || !strings.Contains(c.Reason, "no network any more") {
		t.Errorf("it is recorded as %+v", c)
	}
}

// A machine does not hear from errors where this computer is.
func TestErrorsNameNoAddresses(t *testing.T) {
	w := newWorld(t, machine.NetworkPublic)
	w.names["a.example"] = []string{"192.31.196.1"}
	own := &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 4242}
	w.proxy.config.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Source: own, Addr: own, Err: errors.New("connection reset")}
	}
	look := w.proxy.config.Lookup
	w.proxy.config.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		if host == "b.example" {
			return nil, &net.DNSError{Err: "read udp 192.168.1.5:4242->192.168.1.1:53: i/o timeout", Name: host, Server: "192.168.1.1:53", IsTimeout: true}
		}
		return look(ctx, host)
	}
	for host, words := range map[string]string{"a.example": "connection reset", "b.example": "name server", "c.example": "not known"} {
		if got, err := w.get("http://" + host + "/"); err != nil || !strings.Contains(got, words) || strings.Contains(got, "192.168") {
			t.Errorf("%s: %q, %v", host, got, err)
		}
	}
	w.proxy.config.ProxyFor = func(*http.Request) (*url.URL, error) {
		return nil, errors.New("bad address http://me:secret@192.168.1.1")
	}
	if got, err := w.get("http://a.example/"); err != nil || !strings.HasPrefix(got, "502 ") || strings.Contains(got, "secret") {
		t.Errorf("%q, %v", got, err)
	}
}

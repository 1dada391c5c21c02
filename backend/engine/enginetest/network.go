package enginetest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

var networkTests = []test{{"WayOut", testWayOut}, {"WayOutIsBounded", testWayOutIsBounded}, {"Libraries", testLibraries}, {"Secrets", testSecrets}, {"Git", testGit}}

// outside answers the connections of a machine: what is asked of it for the host "echo" comes back,
// "zeros" sends forever, and "silent" never reads.
type outside struct {
	asked   atomic.Int64
	open    atomic.Int64
	silence chan struct{}
	once    sync.Once
}

func newOutside(t *testing.T) *outside {
	o := &outside{silence: make(chan struct{})}
	t.Cleanup(o.end)
	return o
}

func (o *outside) end() { o.once.Do(func() { close(o.silence) }) }

func (o *outside) connect(conn net.Conn) {
	o.asked.Add(1)
	o.open.Add(1)
	defer o.open.Add(-1)
	defer conn.Close()
	in := bufio.NewReader(conn)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	if r.Method != http.MethodConnect {
		body := "you asked for " + r.URL.String()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
		return
	}
	host, _, _ := strings.Cut(r.Host, ":")
	if host == "denied" {
		_, _ = io.WriteString(conn, "HTTP/1.1 403 ForeverVM: not for you\r\nContent-Length: 0\r\n\r\n")
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	switch host {
	case "echo":
		_, _ = io.Copy(conn, in)
	case "zeros":
		for b := make([]byte, 64<<10); err == nil; {
			_, err = conn.Write(b)
		}
	case "silent":
		<-o.silence
	}
}

// outsideEnv is what the environment of a machine with a network has.
var outsideEnv = map[string]string{"HTTP_PROXY": "http://127.0.0.1:3128", "http_proxy": "http://127.0.0.1:3128", "ANSWER": "42"}

const reachOut = `
	import os, socket, threading, time, urllib.request

	def connect(host):
	    s = socket.create_connection((host, 1))  # no library of ours is asked for
	    s.settimeout(60)
	    return s

	def echo(n):
	    data, s = os.urandom(n), connect("echo")
	    def send():
	        s.sendall(data)
	        s.shutdown(socket.SHUT_WR)
	    thread = threading.Thread(target=send)
	    thread.start()
	    back = bytearray()
	    while part := s.recv(1 << 16):
	        back += part
	    thread.join()
	    s.close()
	    return bytes(back) == data

	def plain():
	    return urllib.request.urlopen("http://some.where/x", timeout=60).read()
`

// The way out carries bytes both ways, is new after waking and in a fork, and what the machine
// trusts and finds in its environment comes along.
func testWayOut(t *testing.T, s Subject) {
	o := newOutside(t)
	authorities := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	spec := machine.StartSpec{ID: s.newID(t), Env: outsideEnv, Authorities: authorities, Connect: o.connect}
	m := s.start(t, spec)
	m.value(reachOut)
	m.expect(`plain()`, "b'you asked for http://some.where/x'")
	m.expect(`echo(2_000_000)`, "True")
	m.expect(`open("/etc/ssl/certs/ca-certificates.crt").read().count("BEGIN")`, "1")
	m.expect(`os.environ["ANSWER"]; os.environ.pop("ANSWER")`, "'42'")
	m.expect(`
		import subprocess, sys
		try:
		    connect("denied")
		except PermissionError as e:
		    why = str(e)
		why, subprocess.run([sys.executable, "-c", "import socket; socket.create_connection(('denied', 1))"], capture_output=True, text=True).stderr.count("not for you")`,
		`('[Errno 13] ForeverVM: not for you', 1)`)
	m.expect(`
		import asyncio
		async def ask():
		    r, w = await asyncio.open_connection("echo", 7)
		    w.write(b"hello"); w.write_eof()
		    back = await r.read()
		    w.close()
		    return back
		await asyncio.gather(ask(), ask())`, `[b'hello', b'hello']`)
	// Downloads that nobody reads, and one that is read, delay nothing.
	m.value(`
		idle = [connect("zeros") for _ in range(3)]
		busy, stop, got = connect("zeros"), threading.Event(), 0
		def read():
		    global got
		    while not stop.is_set() and (part := busy.recv(1 << 16)):
		        got += len(part)
		        time.sleep(0.02)
		threading.Thread(target=read, daemon=True).start()`)
	m.expect(`echo(100_000)`, "True")
	kept, err := m.box.Checkpoint(m.ctx(), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.expect(`
		before, deadline = got, time.monotonic() + 60
		while got == before and time.monotonic() < deadline:
		    time.sleep(0.01)
		got > before`, "True") // what is open goes on where the machine goes on
	info, err := m.box.Stop(m.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if cause := m.awaitEnd(); cause.Kind != machine.EndedStopped {
		t.Fatalf("it ended: %+v", cause)
	}
	fork := spec
	fork.ID, fork.Clone = s.newID(t), true
	copied, err := s.Checkpoints.Copy(t.Context(), m.id, kept.ID, fork.ID)
	if err != nil {
		t.Fatal(err)
	}
	fork.Checkpoint = copied.ID
	spec.Checkpoint, spec.Acked = info.ID, m.acks()
	fork.Acked = m.acks()
	for what, spec := range map[string]machine.StartSpec{"woken": spec, "fork": fork} {
		t.Run(what, func(t *testing.T) {
			back := s.start(t, spec)
			back.expect(`
				def over(s):
				    try:
				        while s.recv(1 << 20):
				            pass
				        return "ended"
				    except ConnectionResetError:
				        return "reset"
				stop.set()
				{over(s) for s in idle}`, `{'reset'}`)
			back.expect(`echo(1_000_000)`, "True")
			back.expect(`plain()`, "b'you asked for http://some.where/x'")
			back.expect(`"ANSWER" in os.environ, "HTTP_PROXY" in os.environ`, "(False, True)") // the code took it away
		})
	}
}

// Code that opens what it can, or speaks nonsense where only the relay should speak, costs the
// outside little and ends nobody but itself.
func testWayOutIsBounded(t *testing.T, s Subject) {
	o := newOutside(t)
	m := s.start(t, machine.StartSpec{ID: s.newID(t), Env: outsideEnv, Connect: o.connect})
	m.value(reachOut)
	m.expect(`
		many = []
		for _ in range(100):
		    s = socket.socket()
		    s.settimeout(60)
		    s.connect(("127.0.0.1", 3128))
		    s.sendall(b"CONNECT silent:1 HTTP/1.1\r\n\r\n")
		    many.append(s)
		len(many)`, "100")
	if n := o.open.Load(); n > 128 {
		t.Errorf("%d connections are open outside", n)
	}
	m.value(`for s in many: s.close()`)
	o.end()
	m.expect(`echo(10)`, "True")
	// The pipes of the process that carries the connections are out of reach.
	m.expect(`
		import os
		def reach(fd):
		    try: return os.open(f"/proc/2/fd/{fd}", os.O_RDWR)
		    except PermissionError: return "refused"
		[reach(3), reach(4)]`, "['refused', 'refused']")
	m.expect(`1 + 1`, "2")
	deadline := time.Now().Add(patience)
	for o.open.Load() > 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if n := o.open.Load(); n > 0 {
		t.Errorf("%d connections stay open outside", n)
	}
}

// withInternet is how a machine is started that has what the product gives one for its network.
func withInternet(id machine.ID, o Outside) machine.StartSpec {
	env, authorities := o.Belongings(id)
	return machine.StartSpec{ID: id, Env: env, Authorities: authorities, Connect: o.Connect}
}

const useSecret = `
	import os, subprocess, urllib.request
	import httpx, requests
	from openai import OpenAI

	key, url = os.environ["PROBE_KEY"], "https://keys.example/key"
	bearer = {"Authorization": f"Bearer {key}"}
	session = requests.Session()
	session.headers.update(bearer)
	client = OpenAI(base_url="https://keys.example/v1", api_key=key)

	def use():
	    said = {
	        session.get(url).text, requests.get(url, headers=bearer).text, httpx.get(url, headers=bearer).text,
	        urllib.request.urlopen(urllib.request.Request(url, headers=bearer)).read().decode(),
	        subprocess.run(["curl", "-sS", "-H", f"Authorization: Bearer {key}", url], capture_output=True, text=True).stdout,
	    }
	    models = [model.id for model in client.models.list()]
	    elsewhere = requests.get("https://server.example/key", headers=bearer).text
	    return [text.replace(key, "KEY") for text in said], models, elsewhere == f"false {key}", "the-real" in key
`

// A host gets a secret from the libraries that people use, before and after waking, and in a fork;
// the machine never has it, whatever the host answers.
func testSecrets(t *testing.T, s Subject) {
	spec := withInternet(s.newID(t), s.Internet(t))
	m := s.start(t, spec)
	if r, out := m.run("%pip install openai"); !r.OK || !strings.Contains(out, "Successfully installed") {
		t.Fatalf("%s\n%s", r.Error, out)
	}
	const used = `(['true KEY'], ['probe'], True, False)`
	m.value(useSecret)
	m.expect("use()", used)
	info := m.stop()
	fork := spec
	fork.ID, fork.Clone, fork.Acked = s.newID(t), true, m.acks()
	copied, err := s.Checkpoints.Copy(t.Context(), m.id, info.ID, fork.ID)
	if err != nil {
		t.Fatal(err)
	}
	fork.Checkpoint = copied.ID
	s.start(t, fork).expect("use()", used)
	spec.Checkpoint, spec.Acked = info.ID, m.acks()
	s.start(t, spec).expect("use()", used)
}

const useLibraries = `
	import asyncio, importlib, subprocess, sys, urllib.request
	import aiohttp, httpx, msgpack, psycopg, requests, websockets
	import websockets.sync.client

	url = "https://server.example/hello"
	database = "host=server.example dbname=x user=y connect_timeout=60 sslmode=verify-full sslrootcert=system"

	async def by_aiohttp():
	    async with aiohttp.ClientSession() as session, session.get(url) as answer:
	        return await answer.text()

	async def by_websockets():
	    async with websockets.connect("wss://server.example/echo") as socket:
	        await socket.send("hello")
	        return await socket.recv()

	async def by_psycopg():
	    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
	        return (await (await connection.execute("select 42")).fetchone())[0]

	async def by_httpx():
	    async with httpx.AsyncClient() as client:
	        return (await client.get(url)).text

	async def use():
	    with websockets.sync.client.connect("wss://server.example/echo") as socket:
	        socket.send("hello")
	        echo = socket.recv()
	    with psycopg.connect(database, autocommit=True) as connection:
	        answer = connection.execute("select 42").fetchone()[0]
	    return {
	        requests.get(url).text, httpx.get(url).text, urllib.request.urlopen(url).read().decode(), await by_httpx(), await by_aiohttp(),
	        await by_websockets(), echo, subprocess.run(["curl", "-sS", url], capture_output=True, text=True).stdout,
	    }, {answer, await by_psycopg()}, msgpack.unpackb(msgpack.packb({"a": [1]})), "_cmsgpack" in msgpack.Packer.__module__
`

// Packages of the real index, compiled ones among them, are installed, used, and there after waking
// and in a fork; libraries reach a server whose authority is this computer's alone, with the code
// that people write; what one machine has installed, another installs without a network.
func testLibraries(t *testing.T, s Subject) {
	o := s.Internet(t)
	spec := withInternet(s.newID(t), o)
	m := s.start(t, spec)
	began := time.Now()
	if r, out := m.run("%pip install aiohttp websockets 'psycopg[binary]' msgpack"); !r.OK || !strings.Contains(out, "Successfully installed") {
		t.Fatalf("%s\n%s", r.Error, out)
	}
	t.Logf("installed after %v", time.Since(began))
	const used = `({'hello'}, {42}, {'a': [1]}, True)`
	m.value(useLibraries)
	m.expect("await use()", used)
	if r, out := m.run("!pip install --index-url https://server.example/simple/ forevervm-probe"); !r.OK || !strings.Contains(out, "Successfully installed forevervm-probe-1") {
		t.Errorf("%s\n%s", r.Error, out)
	}
	info := m.stop()
	fork := spec
	fork.ID, fork.Clone, fork.Acked = s.newID(t), true, m.acks()
	copied, err := s.Checkpoints.Copy(t.Context(), m.id, info.ID, fork.ID)
	if err != nil {
		t.Fatal(err)
	}
	fork.Checkpoint = copied.ID
	spec.Checkpoint, spec.Acked = info.ID, m.acks()
	for what, spec := range map[string]machine.StartSpec{"woken": spec, "fork": fork} {
		t.Run(what, func(t *testing.T) {
			back := s.start(t, spec)
			back.expect("await use()", used)
			back.expect("subprocess.run([sys.executable, '-c', 'import forevervm_probe, msgpack, psycopg; print(forevervm_probe.answer)'], capture_output=True, text=True).stdout", `'42\n'`)
		})
	}

	o.SetPolicy(machine.NetworkPolicy{Mode: machine.NetworkOff})
	second := s.start(t, withInternet(s.newID(t), o))
	if r, out := second.run("!pip install msgpack"); !r.OK || !strings.Contains(out, "Successfully installed msgpack") {
		t.Errorf("without a network: %s\n%s", r.Error, out)
	}
	second.expect("import msgpack; msgpack.packb([1])", `b'\x91\x01'`)
	if _, out := second.run("!pip install --retries 1 forevervm-none 2>&1"); !strings.Contains(out, "This machine has no network") {
		t.Errorf("what is not kept: %s", out)
	}
}

// Git is not in the image, but to be had: Debian's packages are installed through the proxy, too.
// It takes longer than the other tests have.
func testGit(t *testing.T, s Subject) {
	if os.Getenv("FOREVERVM_LONG") == "" {
		t.Skip("set FOREVERVM_LONG to run it, as `make soak` does")
	}
	m := s.start(t, withInternet(s.newID(t), s.Internet(t)))
	if r, out := m.run("!(apt-get update && apt-get install --yes --no-install-recommends git) 2>&1"); !r.OK || !strings.Contains(out, "Setting up git") {
		t.Fatalf("%s\n%s", r.Error, out)
	}
	if _, out := m.run("!git clone --quiet https://server.example/repo.git 2>&1; cat repo/hello"); out != "hello from git\n" {
		t.Errorf("it says %q", out)
	}
}

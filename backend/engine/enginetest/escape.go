package enginetest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// canary is something of the computer's that no machine may find.
func canary(t *testing.T) string {
	t.Helper()
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return "canary" + hex.EncodeToString(b[:])
}

// countVisitors counts who comes to a listener until the test is over.
func countVisitors(t *testing.T, l net.Listener, came *atomic.Int32) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

// listen opens a port on an address of the computer and tells how often somebody came.
func listen(t *testing.T, address string) (port string, came *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	came = sing(t, l)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, came
}

// sing makes a listener a canary: it can be reached from here, and who comes is counted.
func sing(t *testing.T, l net.Listener) (came *atomic.Int32) {
	t.Helper()
	came = new(atomic.Int32)
	countVisitors(t, l, came)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("the canary cannot be reached from the computer itself: %v", err)
	}
	c.Close()
	return came
}

// listenUDP opens a port on an address of the computer and tells how many packets came.
func listenUDP(t *testing.T, address string) (port string, came *atomic.Int32) {
	t.Helper()
	came = new(atomic.Int32)
	l, err := net.ListenPacket("udp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	sang, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for b := make([]byte, 16); ; {
			if _, _, err := l.ReadFrom(b); err != nil {
				return
			}
			if came.Add(1) == 1 {
				close(sang)
			}
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	c, err := net.Dial("udp", l.LocalAddr().String())
	if err == nil {
		_, err = c.Write([]byte("canary"))
		c.Close()
	}
	if err != nil {
		t.Fatalf("the canary cannot be reached from the computer itself: %v", err)
	}
	<-sang
	_, port, _ = net.SplitHostPort(l.LocalAddr().String())
	return port, came
}

// listenUnix opens a socket without a file, which only a network name space keeps from others, and
// tells how often somebody came.
func listenUnix(t *testing.T, name string) (came *atomic.Int32) {
	t.Helper()
	came = new(atomic.Int32)
	l, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	countVisitors(t, l, came)
	c, err := net.Dial("unix", "@"+name)
	if err != nil {
		t.Fatalf("the canary cannot be reached from the computer itself: %v", err)
	}
	c.Close()
	return came
}

// ownAddresses are the computer's addresses, loopback first.
func ownAddresses(t *testing.T) []string {
	t.Helper()
	out := []string{"127.0.0.1"}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			out = append(out, ip.IP.String())
		}
	}
	return out
}

var escapeTests = []test{
	{"Files", func(t *testing.T, s Subject) {
		word := canary(t)
		// In places that a sandbox might show: a temporary folder, a home, the working folder.
		var paths []string
		home, _ := os.UserHomeDir()
		for _, dir := range []string{t.TempDir(), os.TempDir(), home, "."} {
			f, err := os.CreateTemp(dir, "*-"+word)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.WriteString(word)
			f.Close()
			path, _ := filepath.Abs(f.Name())
			t.Cleanup(func() { os.Remove(path) })
			paths = append(paths, path)
		}
		m := s.fresh(t)
		m.value("paths = " + pythonList(paths))
		m.expect(`
			import glob, os, subprocess
			found = []
			prefixes = ["", "/proc/1/root", "/proc/self/root", "/mnt/work/../../..", "/mnt/shared/../..", "/run/egress/../../../../..", "/proc/1/cwd/../../.."]
			for p in paths:
				for q in prefixes + [f"/proc/self/fd/{n}/../../../.." for n in range(40)]:
					try: found.append(open(q + p).read())
					except OSError: pass
			for d in ("/mnt/work", "/mnt/inbox", "/mnt/outbox", "/mnt/shared", "/run/egress"):
				found += os.listdir(d)
			for d in ("/tmp", "/root", os.path.dirname(paths[0])):
				found += [n for n in glob.glob(d + "/*") if "`+word+`" in n]
			found
		`, "[]")
		// Nor can it make the kernel show more.
		m.expect(`
			import ctypes
			libc = ctypes.CDLL(None, use_errno=True)
			tried = [libc.mount(b"none", b"/mnt/work", b"tmpfs", 0, None), libc.mount(b"/dev/sda1", b"/mnt/shared", b"ext4", 0, None),
				libc.umount2(b"/mnt/work", 2), libc.unshare(0x10000000), libc.chroot(b"/mnt/work"), libc.open_by_handle_at(-1, None, 0)]
			all(n == -1 for n in tried) or tried
		`, "True")
		// The reserved folders belong to nobody yet.
		m.expect(`
			wrote = []
			for d in ("/mnt/work", "/mnt/inbox", "/mnt/outbox", "/mnt/shared", "/run/egress"):
				try: open(d + "/x", "w"); wrote.append(d)
				except OSError: pass
			wrote
		`, "[]")
	}},
	{"SystemCalls", func(t *testing.T, s Subject) {
		// Anyone who is root in a machine gets no device, name space, kernel or other process by
		// it.
		m := s.fresh(t)
		m.expect(`
			import ctypes, fcntl, os, platform, socket, time
			libc = ctypes.CDLL(None, use_errno=True)
			number = {"x86_64": 0, "aarch64": 1}[platform.machine()]
			buffer = ctypes.create_string_buffer(8)
			try: first = int(open("/proc/1/maps").read().split("-")[0] or "400000", 16)
			except OSError: first = 0x400000
			here, there = ((ctypes.c_void_p * 2)(at, 8) for at in (ctypes.addressof(buffer), first))
			calls = {  # by their numbers on both processors, and what they are asked for
				"ptrace": ((101, 117), (16, 1, 0, 0)), "process_vm_readv": ((310, 270), (1, here, 1, there, 1, 0)), "process_vm_writev": ((311, 271), (1, here, 1, there, 1, 0)),
				"pidfd_getfd": ((438, 438), (libc.syscall(434, 1, 0), 5, 0)), "kcmp": ((312, 272), (1, 2, 0, 0, 0)), "settimeofday": ((164, 170), (ctypes.c_long(0), 0)),
				"mount": ((165, 40), (b"none", b"/tmp", b"proc", 0, None)), "move_mount": ((429, 429), (-100, b"/", -100, b"/tmp", 0)), "open_tree": ((428, 428), (-100, b"/", 1)),
				"fsopen": ((430, 430), (b"tmpfs", 0)), "pivot_root": ((155, 41), (b"/tmp", b"/tmp")), "name_to_handle_at": ((303, 264), (-100, b"/", 0, 0, 0)),
				"bpf": ((321, 280), (0, 0, 0)), "io_uring_setup": ((425, 425), (8, 0)), "userfaultfd": ((323, 282), (0,)), "perf_event_open": ((298, 241), (0, 0, -1, -1, 0)),
				"kexec_load": ((246, 104), (0, 0, 0, 0)), "kexec_file_load": ((320, 294), (-1, -1, 0, 0, 0)), "init_module": ((175, 105), (0, 0, b"")), "finit_module": ((313, 273), (-1, b"", 0)),
				"reboot": ((169, 142), (0xfee1dead, 672274793, 0x1234567, 0)), "swapon": ((167, 224), (b"/tmp", 0)), "acct": ((163, 89), (b"/tmp/x",)),
				"add_key": ((248, 217), (b"user", b"x", b"y", 1, -4)), "keyctl": ((250, 219), (0, -4, 1)), "iopl": ((172, -1), (3,)), "ioperm": ((173, -1), (0x80, 1, 1)),
				"quotactl": ((179, 60), (0, 0, 0, 0)), "fanotify_init": ((300, 262), (0, 0)), "modify_ldt": ((154, -1), (1, 0, 0)), "lookup_dcookie": ((212, 18), (0, 0, 0)),
			}
			done = [name for name, (numbers, given) in calls.items() if libc.syscall(numbers[number], *given) >= 0]
			done
		`, "[]")
		m.expect(`
			done = []
			def attempt(what, do):
				try: do()
				except (OSError, AttributeError): return
				done.append(what)
			for family, kind, proto in ((17, 3, 0x300), (17, 2, 0x300), (2, 3, 1), (2, 3, 255), (10, 3, 58), (40, 1, 0), (40, 2, 0), (38, 5, 0), (15, 3, 2), (29, 3, 1), (31, 3, 1)):
				attempt(f"socket {family} {kind}", lambda: socket.socket(family, kind, proto).close())
			for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC): attempt(f"clock {clock}", lambda: time.clock_settime(clock, 0))
			for pid in (1, 2): attempt(f"memory of {pid}", lambda: open(f"/proc/{pid}/mem", "r+b").close())
			for kind in ("mnt", "net", "pid", "user", "uts", "ipc"):
				attempt(f"setns {kind}", lambda: os.setns(os.open(f"/proc/1/ns/{kind}", os.O_RDONLY)))
			for name, major, minor in (("mem", 1, 1), ("kmem", 1, 2), ("port", 1, 4), ("sda", 8, 0), ("loop", 7, 0), ("fuse", 10, 229), ("kvm", 10, 232), ("tun", 10, 200)):
				def device():
					path = f"/tmp/{name}"
					os.mknod(path, 0o600 | (0x2000 if major != 8 and major != 7 else 0x6000), os.makedev(major, minor))
					os.close(os.open(path, os.O_RDWR))
				attempt(f"device {name}", device)
			for path in ("/dev/mem", "/dev/kmem", "/dev/kvm", "/dev/sda", "/dev/nvidia0", "/dev/vsock", "/dev/kmsg", "/dev/port",
				"/proc/kcore", "/proc/kmsg", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent", "/proc/acpi"):
				attempt(path, lambda: os.close(os.open(path, os.O_RDWR)))
			# These are there, and gVisor's own: nothing can be done with them.
			attempt("tun", lambda: fcntl.ioctl(os.open("/dev/net/tun", os.O_RDWR), 0x400454ca, b"tun0".ljust(16, b"\0") + b"\x01\x10" + bytes(22)))
			attempt("sysrq", lambda: os.write(os.open("/proc/sysrq-trigger", os.O_WRONLY), b"b"))
			done
		`, "[]")
	}},
	{"EnvironmentAndProcesses", func(t *testing.T, s Subject) {
		word := canary(t)
		t.Setenv("FOREVERVM_CANARY", word)
		host, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		m := s.fresh(t)
		m.expect("import os; '"+word+"' in repr(os.environ)", "False")
		m.expect(`
			import os
			texts = []
			for pid in filter(str.isdigit, os.listdir("/proc")):
				for name in ("environ", "cmdline", "mountinfo", "maps", "status"):
					try: texts.append(open(f"/proc/{pid}/{name}", errors="replace").read())
					except OSError: pass
			for name in ("version", "cmdline", "mounts", "cpuinfo", "meminfo"):
				try: texts.append(open(f"/proc/{name}", errors="replace").read())
				except OSError: pass
			everything = "\0".join(texts)
			("`+word+`" in everything, "enginetest" in everything, "supervisor" in everything, "runsc" in everything)
		`, "(False, False, False, False)")
		m.expect("len([p for p in os.listdir('/proc') if p.isdigit()]) < 8", "True")
		m.expect(fmt.Sprintf("import socket; socket.gethostname() == %q or open('/etc/hostname').read().strip() == %q", host, host), "False")
		if pids := s.Processes(t, m.id); pids["sandbox"] > 0 {
			m.expect(fmt.Sprintf(`
				tried = 0
				for pid in (%d, %d, %d):
					try: os.kill(pid, 0); tried += 1
					except ProcessLookupError: pass
				tried
			`, os.Getpid(), pids["supervisor"], pids["sandbox"]), "0")
		}
	}},
	{"Network", func(t *testing.T, s Subject) { testNoWayAround(t, s, nil) }},
	{"NetworkWithPolicy", func(t *testing.T, s Subject) { testNoWayAround(t, s, s.Undialled(t)) }},
	{"OutsideSocketsFailCleanly", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("import socket; udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); tcp = socket.socket(); tcp.settimeout(5)")
		info := m.stop()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect(`
			failed = []
			for what in (lambda: udp.sendto(b"x", ("1.1.1.1", 53)), lambda: tcp.connect(("1.1.1.1", 80)), lambda: socket.create_connection(("1.1.1.1", 80), timeout=5)):
				try: what(); failed.append("no")
				except OSError as e: failed.append("OSError")
			failed
		`, "['OSError', 'OSError', 'OSError']")
	}},
	{"OtherMachines", func(t *testing.T, s Subject) {
		a, b := s.fresh(t), s.fresh(t)
		word := canary(t)
		a.value("import os, socket; open('/tmp/" + word + "', 'w').write('x'); open('/dev/shm/" + word + "', 'w').write('x'); server = socket.create_server(('127.0.0.1', 45454)); u = socket.socket(socket.AF_UNIX); u.bind('\\0" + word + "'); u.listen()")
		b.expect(`
			import os, socket
			found = [d for d in ("/tmp", "/dev/shm", "/root") if "`+word+`" in os.listdir(d)]
			for family, address in ((socket.AF_INET, ("127.0.0.1", 45454)), (socket.AF_UNIX, "\0`+word+`")):
				s = socket.socket(family); s.settimeout(3)
				try: s.connect(address); found.append(str(address))
				except OSError: pass
			found
		`, "[]")
	}},
	{"WhatTheProcessesSee", func(t *testing.T, s Subject) {
		// The defence behind gVisor: its processes have no file, mount or network of the computer's
		// within reach.
		m := s.fresh(t)
		pids := s.Processes(t, m.id)
		if pids == nil {
			return // they are not ours to look into
		}
		for _, part := range []string{"inner", "sandbox", "gofer"} {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pids[part]))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(b)) {
				fields := strings.Fields(line)
				switch root, point := fields[3], fields[4]; {
				case point == "/" && root == "/" && strings.Contains(line, " - tmpfs "), strings.Contains(line, " - proc "),
					strings.HasPrefix(point, "/machine"), strings.HasPrefix(point, "/checkpoint"), point == "/runsc", point == "/image.erofs",
					strings.HasPrefix(point, "/dev/"), strings.HasPrefix(point, "/reserved"), strings.Contains(line, " - tmpfs "),
					strings.HasPrefix(point, "/root/mnt/"), strings.HasPrefix(point, "/root/run/"), strings.HasPrefix(point, "/proc"),
					strings.Contains(line, " - nsfs "): // the empty network of the gofer
				default:
					t.Errorf("the %s sees the mount %s", part, line)
				}
			}
			for _, path := range []string{"/etc/passwd", "/bin/sh", "/usr/bin", "/home", "/var", "/sys/kernel"} {
				if _, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", pids[part], path)); err == nil {
					t.Errorf("the %s sees %s", part, path)
				}
			}
			own, _ := os.Readlink("/proc/self/ns/net")
			if theirs, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pids[part])); theirs == own {
				t.Errorf("the %s has the computer's network", part)
			}
			env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pids[part]))
			for _, one := range strings.Split(string(env), "\x00") {
				if one != "" && !strings.HasPrefix(one, "GODEBUG=") && !strings.HasPrefix(one, "GOTRACEBACK=") {
					t.Errorf("the %s has %q in its environment", part, one)
				}
			}
		}
	}},
}

// pythonList writes a list of strings as Python.
func pythonList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// policies are those under which nothing of this computer's, or of the networks that it is in, is
// reached: wildcards and agreement name nothing by hand.
var policies = []machine.NetworkPolicy{
	{Mode: machine.NetworkPublic},
	{Mode: machine.NetworkAsk, Approved: []string{"127.0.0.1", "localhost", "169.254.169.254", "10.0.0.0/8"}},
	{Mode: machine.NetworkList, Hosts: []string{"*"}},
	{Mode: machine.NetworkOff},
}

const tryEverything = `
	import _socket, socket, struct, time, urllib.request
	reached = []
	loopback = int(targets[0].rsplit(":", 1)[1])
	private = ("10.0.0.1", "172.17.0.1", "192.168.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "host.docker.internal", "metadata.google.internal")
	everywhere = [tuple(t.rsplit(":", 1)) for t in targets] + [(host, 80) for host in private] + public

	def attempt(what, do):
	    try:
	        if (got := do()) is not False: reached.append((what, got))
	    except OSError: pass

	def ask(said):
	    with socket.create_connection(("127.0.0.1", 3128), timeout=10) as s:
	        s.sendall(said)
	        answer = b""
	        while len(answer) < 12 and (part := s.recv(12 - len(answer))):
	            answer += part
	        return answer if answer[:4] == b"\x05\x00\x05\x00" or b" 200" in answer else False

	def try_all():
	    for host, port in everywhere:
	        attempt(host, lambda: socket.create_connection((host, int(port)), timeout=5).close())
	    for host in ("127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "localhost.", "a.localhost", "0.0.0.0", "0", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"):
	        attempt(host, lambda: socket.create_connection((host, loopback), timeout=5).close())
	    for host, port in everywhere:
	        line = f"{host}:{port}".encode()
	        for said in (b"CONNECT " + line + b" HTTP/1.1\r\nHost: public.example\r\n\r\n",
	                     b"GET http://" + line + b"/ HTTP/1.1\r\nHost: public.example\r\nX-Forwarded-Host: public.example\r\nConnection: close\r\n\r\n",
	                     b"GET http://public.example@" + line + b"/ HTTP/1.1\r\nHost: public.example\r\nConnection: close\r\n\r\n",
	                     b"GET / HTTP/1.1\r\nHost: " + line + b"\r\nConnection: close\r\n\r\n",
	                     b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(host)]) + host.encode() + struct.pack(">H", int(port))):
	            attempt(said, lambda: ask(said))
	        attempt("urllib", lambda: urllib.request.urlopen("http://" + line.decode(), timeout=5).read())
	    return reached
`

// testNoWayAround tries whether a machine reaches anything of this computer's, or of the networks
// that it is in, past or by what answers its connections, which is nobody where o is nil.
func testNoWayAround(t *testing.T, s Subject, o Outside) {
	var targets, datagrams []string
	var came, packets []*atomic.Int32
	add := func(address string, n *atomic.Int32) {
		targets, came = append(targets, address), append(came, n)
	}
	for _, address := range ownAddresses(t) {
		port, n := listen(t, address)
		add(net.JoinHostPort(address, port), n)
		port, n = listenUDP(t, address)
		datagrams = append(datagrams, net.JoinHostPort(address, port))
		packets = append(packets, n)
	}
	if s.Neighbour != nil {
		l := s.Neighbour(t)
		add(l.Addr().String(), sing(t, l))
	}
	t.Logf("canaries sing at %q", targets)
	name := canary(t)
	visitors := listenUnix(t, name)
	spec := machine.StartSpec{ID: s.newID(t), Env: outsideEnv}
	public := `[("1.1.1.1", 443)]`
	if o != nil {
		spec, public = withInternet(spec.ID, o), "[]"
	}
	m := s.start(t, spec)
	m.value("targets, datagrams, public = " + pythonList(targets) + ", " + pythonList(datagrams) + ", " + public)
	m.value(tryEverything)
	if o == nil {
		m.expect("start = time.monotonic(); try_all()", "[]")
		m.expect("time.monotonic() - start < 20", "True")
	} else {
		for _, policy := range policies {
			o.SetPolicy(policy)
			m.expect("try_all()", "[]")
		}
	}
	m.expect(`
		families = set()
		for family in range(48):
			for kind in (1, 2, 3, 4, 5, 10):
				try: _socket.socket(family, kind, 0).close(); families.add((family, kind))
				except OSError: pass
		# Unix, IPv4, IPv6 and Netlink, all gVisor's own; none is raw that could leave the machine.
		{f for f, _ in families} - {1, 2, 10, 16}, {(f, k) for f, k in families if k in (3, 10) and f in (2, 10)}
	`, "(set(), set())")
	m.expect(`
		for family, kind, proto in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET, socket.SOCK_RAW, 255), (socket.AF_INET6, socket.SOCK_RAW, 58), (socket.AF_PACKET, socket.SOCK_RAW, 0x300), (socket.AF_PACKET, socket.SOCK_DGRAM, 0x300)):
			attempt((family, proto), lambda: _socket.socket(family, kind, proto).close())
		attempt("dns", lambda: _socket.getaddrinfo("example.org", 80))
		udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		for host, port in (d.rsplit(":", 1) for d in datagrams):
			try: udp.sendto(b"x", (host, int(port)))
			except OSError: pass
		for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
			attempt("unix", lambda: socket.socket(socket.AF_UNIX, kind).connect("\0`+name+`"))
		reached
	`, "[]")
	for i, n := range packets {
		if got := n.Load(); got != 1 {
			t.Errorf("%s got %d packets from inside", datagrams[i], got-1)
		}
	}
	if got := visitors.Load(); got != 1 {
		t.Errorf("the socket without a file was reached %d times from inside", got-1)
	}
	for i, n := range came {
		if got := n.Load(); got != 1 { // the one that the canary sang with
			t.Errorf("%s was reached %d times from inside", targets[i], got-1)
		}
	}
	m.expect("server = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(server.getsockname()); 'loopback works'", "'loopback works'")
}

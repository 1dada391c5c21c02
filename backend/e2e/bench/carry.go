//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// load is how much is carried each way, in bytes.
const load = 1 << 30

// loads has the two ends in a machine: what it measures itself, once over its own loopback and once
// by the proxy, in bytes a second.
const loads = `
import multiprocessing, socket, time
LOAD, PIECE = 1 << 30, 1 << 18

def pull(s):
    b, got, start = bytearray(PIECE), 0, time.monotonic()
    while n := s.recv_into(b):
        got += n
    assert got == LOAD, got
    return LOAD / (time.monotonic() - start)

def push(s):
    b, start = bytes(PIECE), time.monotonic()
    for _ in range(LOAD // PIECE):
        s.sendall(b)
    s.shutdown(socket.SHUT_WR)
    while s.recv(1): pass
    return LOAD / (time.monotonic() - start)

def serve(l, do):
    s, _ = l.accept()
    do(s)
    s.close()

def loopback(here, there):
    l = socket.create_server(("127.0.0.1", 0))
    other = multiprocessing.get_context("fork").Process(target=serve, args=(l, there))
    other.start()
    with socket.create_connection(l.getsockname()) as s:
        rate = here(s)
    other.join()
    return rate

def proxied(address, do):
    with socket.create_connection(("127.0.0.1", 3128)) as s:
        s.sendall(f"CONNECT {address} HTTP/1.1\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += s.recv(1)
        assert b" 200 " in answer, answer
        return do(s)
`

// carry measures what large transfers take: through the proxy, and of files in and out.
func carry(out *tabwriter.Writer, d *daemon) error {
	fmt.Fprintln(out, "1 GB each way\trate\tof the machine's own loopback\taim\tdaemon\tsupervisor\taim")
	name, err := d.create()
	if err != nil {
		return err
	}
	if err := d.exec(name, loads); err != nil {
		return err
	}
	for _, way := range []struct{ name, inside, loop, serve string }{
		{"from the internet, through the proxy", "pull", "loopback(pull, push)", "down"},
		{"to the internet, through the proxy", "push", "loopback(push, pull)", "up"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go serveLoad(l, way.serve == "down")
		address := l.Addr().String()
		change := map[string]any{"network": map[string]any{"mode": "list", "hosts": []string{address}}}
		if err := d.call("PATCH", "/api/machines/"+name, change, nil); err != nil {
			return err
		}
		var loop, through []float64
		peaks, err := d.peaks(func() error {
			for range 3 { // in turns, as the computer is not equally fast all the time
				for _, one := range []struct {
					code string
					into *[]float64
				}{{way.loop, &loop}, {fmt.Sprintf("proxied(%q, %s)", address, way.inside), &through}} {
					rate, err := d.number(name, one.code)
					if err != nil {
						return err
					}
					*one.into = append(*one.into, rate)
				}
			}
			return nil
		})
		l.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\t%.0f MB/s\t%.0f %%\t≥ 60 %%\t%s\n", way.name, median(through)/1e6, 100*median(through)/median(loop), peaks)
	}
	for _, way := range []string{http.MethodPut, http.MethodGet} {
		var took float64
		peaks, err := d.peaks(func() (err error) {
			took, err = d.file(way, name, load)
			return err
		})
		if err != nil {
			return err
		}
		what := map[string]string{http.MethodPut: "a file into the machine", http.MethodGet: "and out of it"}[way]
		fmt.Fprintf(out, "%s\t%.0f MB/s\t\t\t%s\n", what, load/1e6/took, peaks)
	}
	return nil
}

// file puts a file of so many bytes into a machine, or gets it out again, and returns how many
// seconds that took.
func (d *daemon) file(way, machine string, size int64) (float64, error) {
	req, err := http.NewRequest(way, d.url+"/api/machines/"+machine+"/files/content?path=big", nil) //nolint:noctx // a benchmark ends as a whole
	if err != nil {
		return 0, err
	}
	if way == http.MethodPut {
		req.Body, req.ContentLength = io.NopCloser(io.LimitReader(zeros{}, size)), size
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	begin := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && (res.StatusCode >= 300 || way == http.MethodGet && n != size) {
		err = fmt.Errorf("%s of a large file: %s, %d bytes", way, res.Status, n)
	}
	return since(begin), err
}

// serveLoad sends the load to who comes, or takes it.
func serveLoad(l net.Listener, send bool) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if send {
			_, _ = io.CopyN(c, zeros{}, load)
		} else {
			_, _ = io.Copy(io.Discard, c)
		}
		c.Close()
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// number is the value of code.
func (d *daemon) number(name, code string) (float64, error) {
	var in struct {
		Seq           int
		Status, Error string
		Value         string
	}
	path := "/api/machines/" + name + "/instructions"
	if err := d.call("POST", path, map[string]any{"code": code}, &in); err != nil {
		return 0, err
	}
	if err := d.call("GET", fmt.Sprintf("%s/%d?%s", path, in.Seq, url.Values{"wait": {"600"}}.Encode()), nil, &in); err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(in.Value, 64)
	if err != nil {
		return 0, fmt.Errorf("%q ended with %s: %s %s", code, in.Status, in.Value, in.Error)
	}
	return n, nil
}

// peak is the most memory (MB) that the daemon, and any one of its supervisors' processes, had
// resident.
type peak struct{ daemon, supervisor float64 }

func (p peak) String() string {
	return fmt.Sprintf("%.0f MB\t%.0f MB\t< 100 MB", p.daemon, p.supervisor)
}

// peaks is that while something is done.
func (d *daemon) peaks(do func() error) (peak, error) {
	all := d.supervisors()
	for _, pid := range append(all, d.cmd.Process.Pid) {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // the peak starts over
	}
	if err := do(); err != nil {
		return peak{}, err
	}
	p := peak{daemon: peakOf(d.cmd.Process.Pid)}
	for _, pid := range all {
		p.supervisor = max(p.supervisor, peakOf(pid))
	}
	return p, nil
}

// supervisors are the processes of the program of that name, outer and inner, that descend from the
// daemon.
func (d *daemon) supervisors() (pids []int) {
	family := []int{d.cmd.Process.Pid}
	for i := 0; i < len(family); i++ {
		children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", family[i]))
		for _, file := range children {
			b, _ := os.ReadFile(file)
			for _, field := range strings.Fields(string(b)) {
				if pid, err := strconv.Atoi(field); err == nil && !slices.Contains(family, pid) {
					family = append(family, pid)
					args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
					if what := bytes.Split(args, []byte{0}); len(what) > 1 && (string(what[1]) == "run" || string(what[1]) == "inner") {
						pids = append(pids, pid)
					}
				}
			}
		}
	}
	return pids
}

func peakOf(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return float64(kb) / 1000
		}
	}
	return 0
}

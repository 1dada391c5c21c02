//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// daemon is a `forevervm serve` over a home of its own.
type daemon struct {
	bin, home, url, token string
	engine                string // of the machines that are made; the default one where it is empty
	cmd                   *exec.Cmd
}

func start(bin string) (*daemon, error) { return launch(bin, "") }

// launch is start with machines of the given engine.
func launch(bin, engine string, env ...string) (*daemon, error) {
	home, err := os.MkdirTemp("", "forevervm-bench-")
	if err != nil {
		return nil, err
	}
	d := &daemon{bin: bin, home: home, engine: engine}
	d.cmd = exec.Command(filepath.Join(bin, "forevervm"), "serve", "--home", home)
	d.cmd.Env = append(os.Environ(), env...)
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	var ready struct{ URL string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		d.stop()
		return nil, fmt.Errorf("the daemon did not start: %w", err)
	}
	d.url = ready.URL
	if err := d.prepare(); err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

// prepare makes the template, which is not what is measured, by using a first machine.
func (d *daemon) prepare() error {
	token, err := exec.Command(filepath.Join(d.bin, "forevervm"), "token", "--owner", "--home", d.home).Output()
	if err != nil { // older programs have one token for all
		token, err = exec.Command(filepath.Join(d.bin, "forevervm"), "token", "--home", d.home).Output()
	}
	if err != nil {
		return err
	}
	d.token = strings.TrimSpace(string(token))
	name, err := d.create()
	if err != nil {
		return err
	}
	return d.exec(name, "1")
}

func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(os.Interrupt)
	_ = d.cmd.Wait()
	os.RemoveAll(d.home)
}

func (d *daemon) call(method, path string, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, d.url+path, bytes.NewReader(b)) //nolint:noctx // a benchmark ends as a whole
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if b, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	if res.StatusCode >= 400 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, b)
	}
	if out == nil || len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, out)
}

func (d *daemon) create() (string, error) {
	var m struct{ Name string }
	err := d.call("POST", "/api/machines", map[string]string{"engine": d.engine}, &m)
	return m.Name, err
}

// exec runs code and waits for its result.
func (d *daemon) exec(name, code string) error {
	var in struct {
		Seq    int
		Status string
		Error  string
	}
	if err := d.call("POST", "/api/machines/"+name+"/instructions", map[string]any{"code": code}, &in); err != nil {
		return err
	}
	if err := d.call("GET", fmt.Sprintf("/api/machines/%s/instructions/%d?wait=600", name, in.Seq), nil, &in); err != nil {
		return err
	}
	if in.Status != "ok" {
		return fmt.Errorf("%q ended with %s: %s", code, in.Status, in.Error)
	}
	return nil
}

// alone measures what has no counterpart elsewhere.
func alone(out *tabwriter.Writer, d *daemon) error {
	fmt.Fprintln(out, "alone\tmedian\taim")
	initialize, err := mcpStart(d)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "forevervm mcp, from start to its answer to initialize\t%s\t≤ 150 ms\n", ms(initialize))

	memory, err := idleMemory(d.bin)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "idle daemon with 100 swapped machines, resident\t%.1f MB\t≤ 60 MB\n", memory)
	return nil
}

// mcpStart times an AI app's start of the MCP server, with the daemon running.
func mcpStart(d *daemon) (float64, error) {
	var times []float64
	for range 7 {
		cmd := exec.Command(filepath.Join(d.bin, "forevervm"), "mcp", "--home", d.home)
		in, err := cmd.StdinPipe()
		if err != nil {
			return 0, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		const request = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
		if _, err := io.WriteString(in, request); err != nil {
			return 0, err
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		times = append(times, since(begin))
		if err != nil || !strings.Contains(line, "serverInfo") {
			return 0, fmt.Errorf("not an answer to initialize: %q (%w)", line, err)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			return 0, err
		}
	}
	return median(times), nil
}

// many runs f so many times at once.
func many(n int, f func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// idleMemory is the resident memory (MB) of a fresh daemon that has 100 swapped machines and
// nothing to do.
func idleMemory(bin string) (float64, error) {
	d, err := start(bin)
	if err != nil {
		return 0, err
	}
	defer d.stop()
	err = many(4, func(int) error {
		for range 25 {
			name, err := d.create()
			if err == nil {
				err = d.exec(name, "x = 1")
			}
			if err == nil {
				err = d.call("POST", "/api/machines/"+name+"/swap", nil, nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := d.rests(); err != nil {
		return 0, err
	}
	time.Sleep(15 * time.Second) // it looks every 5 s whether it rests, and gives memory back then
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return float64(kb) / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS")
}

// rests waits until the daemon has nothing more to do: in a second it takes the processor for 20 ms
// at most.
func (d *daemon) rests() error {
	used := func() (ticks int, err error) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
		if err != nil {
			return 0, err
		}
		var user, system int
		_, after, _ := strings.Cut(string(b), ") ") // a name may have blanks
		_, err = fmt.Sscanf(strings.Join(strings.Fields(after)[11:13], " "), "%d %d", &user, &system)
		return user + system, err
	}
	before := -10
	for range 300 {
		now, err := used()
		if err != nil || now-before <= 2 {
			return err
		}
		before = now
		time.Sleep(time.Second)
	}
	return errors.New("the daemon has found no rest for five minutes")
}

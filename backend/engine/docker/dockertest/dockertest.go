//go:build linux

// Package dockertest gives tests a Docker: the one that FOREVERVM_TEST_DOCKER names, or one that it
// starts, with folders, sockets and processes of its own, so that whatever else runs on the
// computer is not disturbed.
package dockertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/client"
)

// Daemon is a Docker for tests.
type Daemon struct {
	Host string   // its address
	Args []string // more of dockerd's, from the next Run on
	Hide []string // mounts of the computer's that it does not see, from the next Run on

	dir string
	cmd *exec.Cmd // nil while it does not run, or was not started here
	let func()    // ends the thread that cmd is bound to
	log *os.File
}

const (
	startPatience = time.Minute
	stopPatience  = 2 * time.Minute
)

// Start starts one, or takes the one that is offered. Stop it.
func Start() (*Daemon, error) {
	if host := os.Getenv("FOREVERVM_TEST_DOCKER"); host != "" {
		return &Daemon{Host: host}, nil
	}
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("only root can start a Docker of its own: name one by FOREVERVM_TEST_DOCKER=unix:///var/run/docker.sock")
	}
	dir, err := os.MkdirTemp("", "dockertest-")
	if err != nil {
		return nil, err
	}
	d := &Daemon{Host: "unix://" + filepath.Join(dir, "docker.sock"), dir: dir}
	if d.log, err = os.Create(filepath.Join(dir, "log")); err == nil {
		err = d.Run()
	}
	if err != nil {
		_ = d.Stop()
		return nil, err
	}
	return d, nil
}

// Own says whether it was started here, so that it may be stopped and broken.
func (d *Daemon) Own() bool { return d.dir != "" }

// Data is the folder of all that it has.
func (d *Daemon) Data() string { return filepath.Join(d.dir, "data") }

// Run starts it again after Kill or Terminate, with all that it had.
func (d *Daemon) Run() error {
	args := append([]string{
		"dockerd",
		"--data-root", filepath.Join(d.dir, "data"), "--exec-root", filepath.Join(d.dir, "exec"), "--pidfile", filepath.Join(d.dir, "pid"),
		"--host", d.Host, "--storage-driver", "overlay2", "--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/" + filepath.Base(d.dir),
		// No machine has a network, and the computer's is not to be touched.
		"--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
	}, d.Args...)
	if len(d.Hide) > 0 {
		hide := "umount -l " + strings.Join(d.Hide, " ") + "; exec \"$0\" \"$@\""
		args = append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-c", hide}, args...)
	}
	d.cmd = exec.Command(args[0], args[1:]...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	var err error
	if d.let, err = startHeld(d.cmd); err != nil {
		d.let()
		d.cmd = nil
		return fmt.Errorf("start dockerd: %w: install what `build/deps.sh test-all` names", err)
	}
	api, err := client.NewClientWithOpts(client.WithHost(d.Host), client.WithAPIVersionNegotiation())
	if err != nil {
		return err
	}
	defer func() { _ = api.Close() }()
	for deadline := time.Now().Add(startPatience); ; time.Sleep(20 * time.Millisecond) {
		_, err := api.Ping(context.Background())
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(d.log.Name())
			return fmt.Errorf("dockerd does not answer: %w; it wrote:\n%s", err, log[max(0, len(log)-4000):])
		}
	}
}

// startHeld starts a program that the system ends with this one. To the system that is the thread
// that starts it, and threads end: those that are nicer than others (engine/local) do, once they
// have done their work. So a thread that does nothing else starts it, and stays until let is
// called.
func startHeld(cmd *exec.Cmd) (let func(), err error) {
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		<-ended
	}()
	return sync.OnceFunc(func() { close(ended) }), <-started
}

// Terminate stops it as the system does at shutdown; Run starts it again.
func (d *Daemon) Terminate() error { return d.end(syscall.SIGTERM) }

// Kill lets it crash; Run starts it again. Its containers go on without it.
func (d *Daemon) Kill() error { return d.end(syscall.SIGKILL) }

// Freeze lets it hang: it takes connections and answers nothing, until Thaw.
func (d *Daemon) Freeze() error { return d.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets it go on.
func (d *Daemon) Thaw() error { return d.cmd.Process.Signal(syscall.SIGCONT) }

func (d *Daemon) end(signal syscall.Signal) error {
	if d.cmd == nil {
		return nil
	}
	if err := d.cmd.Process.Signal(signal); err != nil {
		return err
	}
	late := time.AfterFunc(stopPatience, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	_ = d.cmd.Wait() // it was ended by us
	d.let()
	d.cmd = nil
	return nil
}

// Stop ends it and removes all that it had. The error names what is left.
func (d *Daemon) Stop() error {
	if !d.Own() {
		return nil
	}
	if err := d.Terminate(); err != nil {
		return err
	}
	d.log.Close()
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		groups, _ := filepath.Glob(pattern + filepath.Base(d.dir))
		for _, group := range groups {
			if err := os.Remove(group); err != nil {
				return fmt.Errorf("dockerd left a control group behind: %w", err)
			}
		}
	}
	// One that crashed leaves the mount of its data.
	for syscall.Unmount(filepath.Join(d.dir, "data"), syscall.MNT_DETACH) == nil { // one for each time that it was started, where the system shares mounts
	}
	if left := d.mounts(); len(left) > 0 {
		return fmt.Errorf("dockerd left mounts behind: %q", left)
	}
	return os.RemoveAll(d.dir)
}

func (d *Daemon) mounts() []string {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return []string{err.Error()}
	}
	var left []string
	for line := range bytes.Lines(b) {
		if strings.Contains(string(line), d.dir) {
			left = append(left, string(line))
		}
	}
	return left
}

// Client is a client of it, closed after the test.
func (d *Daemon) Client(t testing.TB) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.WithHost(d.Host), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	return api
}

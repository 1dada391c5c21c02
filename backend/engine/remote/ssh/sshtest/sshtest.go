//go:build linux

// Package sshtest runs an ssh server on this computer's loopback, for tests of what is reached by
// ssh. sshd is Debian's openssh-server.
package sshtest

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// needs says what to do where a program is missing.
const needs = "install what `build/deps.sh test-all` names"

// Serve starts a server that lets one user in, and has the command ssh know both sides' keys. It
// returns the server's port, which ssh takes where it is told none. Only root can let another user
// in than its own.
func Serve(t *testing.T, who string) (port string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sshtest-") // not t.TempDir, which other users may not look into
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"host", "user"} {
		run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key))
	}
	hostKey, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatalf("%v: %s", err, needs)
	}
	port = FreePort(t)
	for name, content := range map[string]string{
		"sshd_config": "Port " + port + "\nListenAddress 127.0.0.1\nHostKey " + dir + "/host\nAuthorizedKeysFile " + dir + "/user.pub\nPidFile none\nStrictModes no\n" +
			"PermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nMaxStartups 100\nAllowUsers " + who + "\n",
		"ssh_config": "Host *\nPort " + port + "\nIdentityFile " + dir + "/user\nIdentitiesOnly yes\nUserKnownHostsFile " + dir + "/known\n",
		"known":      "[127.0.0.1]:" + port + " " + string(hostKey),
		"ssh":        "#!/bin/sh\nexec " + real + " -F " + dir + "/ssh_config \"$@\"\n",
	} {
		mode := os.FileMode(0o644)
		if name == "ssh" {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	start(t, filepath.Join(dir, "sshd_config"), port)
	return port
}

// start starts sshd, and waits until it answers.
func start(t *testing.T, config, port string) {
	t.Helper()
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where it locks itself in
		t.Fatal(err)
	}
	server := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", config)
	server.Stderr = t.Output()
	if err := server.Start(); err != nil {
		t.Fatalf("%v: %s", err, needs)
	}
	ended := make(chan struct{})
	go func() { _ = server.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// Stranger makes a user, serves them, and returns the address as ssh takes it, and their home. It
// takes root. All that still runs as that user when the test ends is an error.
func Stranger(t *testing.T) (address, home string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("another user takes root: run the tests as root")
	}
	b := make([]byte, 4)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	name := "fvm" + hex.EncodeToString(b)
	home = filepath.Join(os.TempDir(), name)
	run(t, "useradd", "--create-home", "--home-dir", home, "--shell", "/bin/sh", "--password", "*", name)
	t.Cleanup(func() {
		end(t, name)
		run(t, "userdel", "--remove", name)
	})
	Serve(t, name)
	return name + "@127.0.0.1", home
}

// end waits until nothing runs as a user any more, and tells what stays.
func end(t *testing.T, name string) {
	u, err := user.Lookup(name)
	if err != nil {
		t.Error(err)
		return
	}
	var left []int
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = of(u.Uid); len(left) == 0 {
			return
		}
	}
	for _, pid := range left {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		t.Errorf("%q still runs as %s", args, name)
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
}

// of are the processes of a user.
func of(uid string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, _ := os.ReadFile("/proc/" + e.Name() + "/status")
		if bytes.Contains(status, []byte("\nUid:\t"+uid+"\t")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%q: %v: %s", args, err, out)
	}
}

// FreePort is a port of the loopback at which nobody listens.
func FreePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

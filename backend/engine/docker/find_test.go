//go:build unix

package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// noDocker is a computer on which nobody has chosen a Docker.
func noDocker(t *testing.T) (home string) {
	home = t.TempDir()
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	return home
}

// Which Docker it is to be: DOCKER_HOST before the context in use before the sockets of what is
// installed.
func TestCandidates(t *testing.T) {
	home := noDocker(t)
	e := New(Config{})
	hosts := func() string {
		var all []string
		for _, c := range e.candidates() {
			all = append(all, c.host)
		}
		return strings.Join(all, " ")
	}
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	for _, want := range []string{
		"unix:///var/run/docker.sock", "unix:///run/user/7/docker.sock", "unix:///run/user/7/podman/podman.sock", "unix://" + home + "/.docker/run/docker.sock",
		"unix://" + home + "/.orbstack/run/docker.sock", "unix://" + home + "/.colima/default/docker.sock", "unix://" + home + "/.rd/docker.sock",
	} {
		if !strings.Contains(" "+hosts()+" ", " "+want+" ") {
			t.Errorf("%s is not looked at: %s", want, hosts())
		}
	}

	folder := filepath.Join(home, ".docker")
	certificates := choose(t, folder, "colima", "unix:///colima.sock")
	if got := hosts(); got != "unix:///colima.sock" {
		t.Errorf("with a context in use: %s", got)
	}
	if err := os.MkdirAll(certificates, 0o700); err != nil {
		t.Fatal(err)
	}
	if c := e.candidates()[0]; c.tls != certificates {
		t.Errorf("the context's certificates: %+v", c)
	}
	t.Setenv("DOCKER_CONTEXT", "default")
	if got := hosts(); !strings.HasPrefix(got, "unix:///var/run/docker.sock ") {
		t.Errorf("with the default context: %s", got)
	}
	t.Setenv("DOCKER_HOST", "tcp://10.0.0.1:2376")
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	t.Setenv("DOCKER_CERT_PATH", "/certs")
	if c := e.candidates(); len(c) != 1 || c[0].host != "tcp://10.0.0.1:2376" || c[0].tls != "/certs" {
		t.Errorf("with DOCKER_HOST: %+v", c)
	}
	if c := New(Config{Host: "unix:///given"}).candidates(); len(c) != 1 || c[0].host != "unix:///given" {
		t.Errorf("with an address that was given: %+v", c)
	}
}

// choose makes a context of Docker's the one in use, in that folder of settings. It returns where
// the context's certificates would be.
func choose(t *testing.T, config, name, host string) (certificates string) {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	for path, content := range map[string]string{
		"config.json":                        fmt.Sprintf(`{"currentContext":%q}`, name),
		"contexts/meta/" + id + "/meta.json": fmt.Sprintf(`{"Name":%q,"Endpoints":{"docker":{"Host":%q}}}`, name, host),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(config, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(config, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(config, "contexts", "tls", id, "docker")
}

// leaveSocket makes a socket that nobody listens on any more, as a Docker that crashed leaves it.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

// What is wrong is said in one sentence, what to do in another.
func TestWhatIsWrong(t *testing.T) {
	noDocker(t)
	t.Setenv("PATH", t.TempDir())
	check := func(host string) machine.Problem {
		t.Helper()
		_, p := New(Config{Host: host}).find(t.Context())
		if p == nil {
			t.Fatalf("%s can be used", host)
		}
		return p.Problem
	}
	expect := func(what string, p machine.Problem, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(p.What+" "+p.Do, word) {
				t.Errorf("%s: %+v does not say %q", what, p, word)
			}
		}
		if !strings.HasSuffix(p.What, ".") || p.Do == "" {
			t.Errorf("%s: no sentences: %+v", what, p)
		}
	}
	dir := t.TempDir()
	expect("nothing there", check("unix://"+dir+"/none.sock"), "does not run", "Start it")

	left := filepath.Join(dir, "left.sock")
	leaveSocket(t, left)
	expect("left behind", check("unix://"+left), "does not answer", "Start it")

	expect("too old", check(pretend(t, "1.40", "linux")), "too old", "19.03", "20.10")
	expect("Windows containers", check(pretend(t, "1.41", "windows")), "Windows containers", "Switch to Linux containers")
	expect("over ssh", check("ssh://somebody@somewhere"), "ssh")

	p := explain(t.Context(), candidate{host: "unix:///var/run/docker.sock", what: "Docker"}, fmt.Errorf("dial: %w", os.NewSyscallError("connect", syscall.EACCES)))
	expect("no permission", p.Problem, "You may not use Docker")

	expect("not installed", notInstalled(t.Context()).Problem, "not installed", "Install")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	expect("installed, not running", notInstalled(t.Context()).Problem, "does not run", "Start")
}

// pretend answers as a Docker would that cannot be had for a test: one with that version of the
// API, for that system's containers.
func pretend(t *testing.T, version, system string) (host string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", version)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"ServerVersion":"19.03.15","OSType":%q,"NCPU":2}`, system)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() { server.Close(); <-served })
	return "unix://" + socket
}

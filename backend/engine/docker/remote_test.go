//go:build linux && system

package docker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/engine/docker/dockertest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/remote/ssh/sshtest"
	"github.com/forevervm/desktop/backend/machine"
)

// live does what takes a connection of every kind: a machine is made, saved, woken and ended.
func live(t *testing.T, e *Engine) (m *enginetest.InMemory, info machine.CheckpointInfo) {
	t.Helper()
	m = enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Value("x = 'far away'")
	info, err := m.Stop(enginetest.Bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Start(t, e, m.ID, info.ID).Expect("x", "'far away'")
	return m, info
}

// liveAway is live in a Docker on another computer, where the folders of this one are not.
func liveAway(t *testing.T, e *Engine) {
	t.Helper()
	m, info := live(t, e)
	if err := e.MayShow(t.Context(), m.ID, "base", info.ID); !errors.Is(err, machine.ErrConflict) {
		t.Errorf("a folder may be shared: %v", err)
	}
}

// remoteEngine is an engine that finds its Docker as a person's settings say.
func remoteEngine(t *testing.T) *Engine {
	t.Helper()
	cfg := newEngine(t, t.TempDir()).cfg
	cfg.Host = ""
	return newEngineOn(t, cfg)
}

// Docker on another computer, over TLS with certificates on both sides: as DOCKER_HOST says, and as
// a context does.
func TestOverTLS(t *testing.T) {
	if !dockerd.Own() {
		t.Fatal("this test restarts Docker: it needs one of its own, which only root can start")
	}
	home := noDocker(t)
	certs := filepath.Join(home, "certs")
	makeCertificates(t, certs)
	address := "tcp://127.0.0.1:" + sshtest.FreePort(t)
	restart(t, dockerd, "--host", address, "--tlsverify", "--tlscacert", certs+"/ca.pem", "--tlscert", certs+"/cert.pem", "--tlskey", certs+"/key.pem")

	t.Setenv("DOCKER_HOST", address)
	if problems := remoteEngine(t).Check(t.Context()); len(problems) != 1 || !strings.Contains(problems[0].What, address) {
		t.Errorf("without certificates: %+v", problems)
	}
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	t.Setenv("DOCKER_CERT_PATH", certs)
	liveAway(t, remoteEngine(t))

	for _, name := range []string{"DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"} {
		t.Setenv(name, "")
	}
	if err := os.CopyFS(choose(t, filepath.Join(home, ".docker"), "far", address), os.DirFS(certs)); err != nil {
		t.Fatal(err)
	}
	liveAway(t, remoteEngine(t))
}

// Docker on another computer that is reached as its own command does: by ssh.
func TestOverSSH(t *testing.T) {
	noDocker(t)
	port := sshtest.Serve(t, "root")
	host := "ssh://root@127.0.0.1:" + port + strings.TrimPrefix(dockerd.Host, "unix://")
	t.Setenv("DOCKER_HOST", host)
	e := remoteEngine(t)
	liveAway(t, e)
	t.Setenv("DOCKER_HOST", "ssh://root@127.0.0.1:"+sshtest.FreePort(t))
	if problems := remoteEngine(t).Check(t.Context()); len(problems) != 1 || !strings.Contains(problems[0].What, "ssh") {
		t.Errorf("where nobody answers: %+v", problems)
	}
}

// restart restarts Docker with more arguments; after the test, without them.
func restart(t *testing.T, d *dockertest.Daemon, args ...string) {
	t.Helper()
	again := func(args []string) {
		if err := d.Terminate(); err != nil {
			t.Fatal(err)
		}
		d.Args = args
		if err := d.Run(); err != nil {
			t.Fatal(err)
		}
	}
	again(args)
	t.Cleanup(func() { again(nil) })
}

// makeCertificates makes an authority, and one certificate for both sides.
func makeCertificates(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	make := func(serial int64, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: fmt.Sprint("test ", serial)}, NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: parent == nil, BasicConstraintsValid: true,
			KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		if parent == nil {
			parent, by = template, key
		}
		b, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x509.ParseCertificate(b)
		if err != nil {
			t.Fatal(err)
		}
		return made, key
	}
	ca, caKey := make(1, nil, nil)
	write("ca.pem", "CERTIFICATE", ca.Raw)
	cert, key := make(2, ca, caKey)
	write("cert.pem", "CERTIFICATE", cert.Raw)
	b, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write("key.pem", "EC PRIVATE KEY", b)
}

package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/egress/tlstest"
)

// secretFiles are a certificate and its key as Kubernetes mounts a Secret: their names lead through
// a link, which is replaced.
type secretFiles struct {
	t         *testing.T
	authority *tlstest.Authority
	folder    string
}

func newSecretFiles(t *testing.T) *secretFiles {
	return &secretFiles{t: t, authority: tlstest.NewAuthority(t), folder: t.TempDir()}
}

func (f *secretFiles) cert() string { return filepath.Join(f.folder, "now", "tls.crt") }
func (f *secretFiles) key() string  { return filepath.Join(f.folder, "now", "tls.key") }

// replace puts other files there at once.
func (f *secretFiles) replace(certificate, key []byte) {
	f.t.Helper()
	version, err := os.MkdirTemp(f.folder, "version-")
	if err == nil {
		err = os.WriteFile(filepath.Join(version, "tls.crt"), certificate, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(version, "tls.key"), key, 0o600)
	}
	if err == nil {
		err = os.Symlink(version, filepath.Join(f.folder, "next"))
	}
	if err == nil {
		err = os.Rename(filepath.Join(f.folder, "next"), filepath.Join(f.folder, "now"))
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// forName puts a certificate for a name there.
func (f *secretFiles) forName(name string) (certificate, key []byte) {
	certificate, key = tlstest.PEM(f.t, f.authority.Certificate(name))
	f.replace(certificate, key)
	return certificate, key
}

// shown is the name in the certificate that a new connection is shown.
func (f *secretFiles) shown(address string, most uint16) (string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(f.authority.PEM)
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MaxVersion: most, RootCAs: roots})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].DNSNames[0], nil
}

func TestACertificateIsReadAgainWhenItChanges(t *testing.T) {
	var warned []string
	files := newSecretFiles(t)
	old, key := files.forName("one.example")
	d := testDaemon(t, "127.0.0.1:0", &warned)
	d.config.TLSCert, d.config.TLSKey = files.cert(), files.key()
	listener, err := d.listenForTeam()
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_ = conn.(*tls.Conn).Handshake()
			_ = conn.Close()
		}
	}()
	defer func() { _ = listener.Close(); <-served }()
	address := listener.Addr().String()
	shows := func(want string) {
		t.Helper()
		if name, err := files.shown(address, 0); err != nil || name != want {
			t.Errorf("%q, %v; want %q", name, err, want)
		}
	}
	shows("one.example")
	second, secondKey := files.forName("two.example")
	shows("two.example")
	files.replace(old, secondKey) // of two that are replaced, one is there
	shows("two.example")
	files.replace([]byte("no certificate"), key)
	shows("two.example")
	if err := os.Remove(filepath.Join(files.folder, "now")); err != nil {
		t.Fatal(err)
	}
	shows("two.example")
	files.replace(old, key)
	shows("one.example")
	files.replace(second, secondKey)
	shows("two.example")
	if name, err := files.shown(address, tls.VersionTLS11); err == nil {
		t.Errorf("TLS 1.1 is spoken, and shows %q", name)
	}

	// Beside it, this computer has its own port.
	local, at := listening(t, d)
	if local.Addr().String() == address || !strings.HasPrefix(at.url, "http://127.0.0.1:") {
		t.Errorf("this computer reaches it at %s", at.url)
	}
}

func TestWhatTheTeamsPortNeeds(t *testing.T) {
	var warned []string
	files := newSecretFiles(t)
	certificate, _ := files.forName("one.example")
	broken := filepath.Join(t.TempDir(), "broken.key")
	if err := os.WriteFile(broken, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ listen, cert, key, want string }{
		{"127.0.0.1:0", files.cert(), "", "belong together"},
		{"127.0.0.1:0", "", files.key(), "belong together"},
		{"", files.cert(), files.key(), "--listen 0.0.0.0:8443"},
		{"127.0.0.1:0", files.cert(), files.key() + "x", "no such file"},
		{"127.0.0.1:0", files.cert(), broken, "--tls-key"},
		{"127.0.0.1:x", files.cert(), files.key(), "not a port"},
	} {
		d := testDaemon(t, test.listen, &warned)
		d.config.TLSCert, d.config.TLSKey = test.cert, test.key
		if listener, err := d.listenForTeam(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, %v", test, listener, err)
		}
	}
	if listener, err := testDaemon(t, "", &warned).listenForTeam(); listener != nil || err != nil {
		t.Errorf("without a certificate: %v, %v", listener, err)
	}
	taken, _ := listening(t, testDaemon(t, "", &warned))
	d := testDaemon(t, taken.Addr().(*net.TCPAddr).String(), &warned)
	d.config.TLSCert, d.config.TLSKey = files.cert(), files.key()
	if _, err := d.listenForTeam(); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("a port that is taken: %v", err)
	}
}

package egresstest

import (
	"archive/zip"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/forevervm/desktop/backend/egress/tlstest"
)

// serve starts the test's own servers, and says where each port of theirs really is.
func serve(t *testing.T, authority *tlstest.Authority) map[uint16]string {
	config := &tls.Config{Certificates: []tls.Certificate{authority.Certificate(Host, KeyHost)}}
	web := httptest.NewUnstartedServer(pages(t))
	web.TLS = config
	web.StartTLS()
	t.Cleanup(web.Close)
	return map[uint16]string{443: web.Listener.Addr().String(), 5432: servePostgres(t, config)}
}

// pages are /hello, which greets; /key and /v1/models, which know who shows SecretValue; /echo, a
// WebSocket; /simple, an index with the package forevervm-probe; and /repo.git, a repository with
// the file hello.
func pages(t *testing.T) http.Handler {
	const wheel = "forevervm_probe-1-py3-none-any.whl"
	probe := wheelOf(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	mux.HandleFunc("/key", func(w http.ResponseWriter, r *http.Request) {
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		fmt.Fprintf(w, "%t %s", key == SecretValue, key)
	})
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+SecretValue {
			http.Error(w, "Who are you?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object": "list", "data": [{"id": "probe", "object": "model", "created": 1, "owned_by": "test"}]}`)
	})
	mux.HandleFunc("/simple/forevervm-probe/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, wheel) {
			_, _ = w.Write(probe)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><a href="%s">%s</a>`, wheel, wheel)
	})
	mux.Handle("/repo.git/", http.StripPrefix("/repo.git", http.FileServer(http.Dir(repository(t)))))
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		for {
			kind, data, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, data) != nil {
				return
			}
		}
	})
	return mux
}

// repository is one of git's, as files that any server can serve.
func repository(t *testing.T) string {
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "hello"), []byte("hello from git\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "hello"}, {"-c", "user.name=test", "-c", "user.email=test@server.example", "commit", "--quiet", "--message", "hello"}, {"update-server-info"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return filepath.Join(work, ".git")
}

// wheelOf is a package with one module.
func wheelOf(t *testing.T) []byte {
	const info = "forevervm_probe-1.dist-info/"
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, file := range [][2]string{
		{"forevervm_probe.py", "answer = 42\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: forevervm-probe\nVersion: 1\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", ""},
	} {
		w, err := z.Create(file[0])
		if err == nil {
			_, err = io.WriteString(w, file[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// servePostgres answers every query with the number 42, to those who insist on TLS.
func servePostgres(t *testing.T, config *tls.Config) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	open := map[net.Conn]bool{}
	var mu sync.Mutex
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			served.Go(func() {
				defer conn.Close()
				_ = postgres(conn, config) // it is over, one way or the other
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for conn := range open {
			conn.Close()
		}
		mu.Unlock()
		served.Wait()
	})
	return l.Addr().String()
}

// postgres speaks version 3.0 of the protocol, as much as a client needs to ask without parameters.
func postgres(conn net.Conn, config *tls.Config) error {
	secret := false
	for {
		var head [8]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		length, code := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])
		switch code {
		case 80877103: // may we speak TLS?
			if _, err := io.WriteString(conn, "S"); err != nil {
				return err
			}
			conn, secret = tls.Server(conn, config), true
			continue
		case 80877104: // or GSSAPI?
			if _, err := io.WriteString(conn, "N"); err != nil {
				return err
			}
			continue
		}
		if !secret || length < 8 || length > 4096 {
			return net.ErrClosed
		}
		if _, err := io.CopyN(io.Discard, conn, int64(length)-8); err != nil {
			return err
		}
		break
	}
	const ready = "Z\x00\x00\x00\x05I"
	hello := "R\x00\x00\x00\x08\x00\x00\x00\x00"
	for _, said := range []string{"client_encoding\x00UTF8\x00", "server_version\x0016.0\x00", "standard_conforming_strings\x00on\x00"} {
		hello += message('S', said)
	}
	if _, err := io.WriteString(conn, hello+ready); err != nil {
		return err
	}
	const row = "\x00\x01answer\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00"
	answer := message('T', row) + message('D', "\x00\x01\x00\x00\x00\x0242") + message('C', "SELECT 1\x00") + ready
	for {
		var head [5]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[1:]))-4); err != nil {
			return err
		}
		if head[0] != 'Q' {
			return nil
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return err
		}
	}
}

func message(kind byte, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))) + body
}

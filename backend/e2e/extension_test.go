//go:build linux && real

package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Claude Desktop's extension, as Claude Desktop installs and starts it, with the official SDK: it
// runs Python in the ForeverVM that is installed here, and where none is it says so.
func TestTheExtensionRunsPython(t *testing.T) {
	dir, user, folder := nodeProject(t), newHome(t), unpacked(t, program(t, "forevervm.mcpb"))
	env := append(os.Environ(), "HOME="+user, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "FOREVERVM_HOME=", "FOREVERVM_BASE_URL=", "PATH=/usr/bin:/bin:"+nodeFolder(t))
	extension := func(what string) string {
		t.Helper()
		return strings.TrimSpace(run(t, dir, env, "node", "extension.mjs", folder, what))
	}
	if said := extension("create-python-repl"); !strings.Contains(said, "ForeverVM Desktop is not installed on this computer") || !strings.Contains(said, "Ask the user to install it") {
		t.Errorf("with nothing installed it said %q", said)
	}
	// ForeverVM is started once, as a person does by opening it. The next daemon is the
	// extension's.
	forevervm := func(args ...string) string {
		t.Helper()
		return run(t, dir, env, program(t, "forevervm"), args...)
	}
	end := func() {
		endDaemon(t, filepath.Join(user, ".local", "share", "forevervm", "run"), func() string { return forevervm("token", "--owner") })
	}
	t.Cleanup(end)
	forevervm("machine", "new", "--name", "mine")
	end()
	if said := extension("mine"); said != "fine" {
		t.Errorf("it said %q", said)
	}
	if said := forevervm("apps", "--json"); !strings.Contains(said, `"version": "7.5"`) {
		t.Errorf("Claude Desktop is not known to have connected: %s", said)
	}
}

// unpacked is the folder into which Claude Desktop would unpack an extension: it gives no file the
// right to be executed.
func unpacked(t *testing.T, bundle string) string {
	t.Helper()
	data, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	strict(t, data)
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "Claude Extensions", "local.mcpb.forevervm.forevervm")
	for _, file := range archive.File {
		if file.FileInfo().IsDir() {
			continue
		}
		path := filepath.Join(folder, filepath.FromSlash(file.Name))
		in, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// strict checks that nothing follows the archive but the comment that it declares: Claude Desktop
// refuses any other.
func strict(t *testing.T, data []byte) {
	t.Helper()
	const size = 22 // of the record that ends an archive
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	if end < 0 || end+size > len(data) || end+size+int(binary.LittleEndian.Uint16(data[end+size-2:])) != len(data) {
		t.Errorf("the archive of %d bytes does not end as archives do", len(data))
	}
}

func nodeFolder(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(node)
}

// Signed with somebody's certificate, the extension is one that Claude Desktop takes, and openssl
// finds the signature to be of just this.
func TestTheExtensionIsSigned(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	run(t, folder, os.Environ(), "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=test")
	data, err := os.ReadFile(program(t, "forevervm.mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("signed.mcpb"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, repo(t), os.Environ(), "node", "build/mcpb/sign.js", at("signed.mcpb"), at("cert.pem"), at("key.pem"))
	signed, err := os.ReadFile(at("signed.mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	unpacked(t, at("signed.mcpb"))
	const header, footer = "MCPB_SIG_V1", "MCPB_SIG_END"
	start := bytes.LastIndex(signed, []byte(header))
	if start != len(data) || !bytes.HasSuffix(signed, []byte(footer)) {
		t.Fatalf("the signature begins at %d of %d bytes, the archive had %d", start, len(signed), len(data))
	}
	signature := signed[start+len(header)+4 : len(signed)-len(footer)]
	if err := errors.Join(os.WriteFile(at("archive"), signed[:start], 0o600), os.WriteFile(at("signature"), signature, 0o600)); err != nil {
		t.Fatal(err)
	}
	run(t, folder, os.Environ(), "openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", "signature", "-content", "archive", "-CAfile", "cert.pem", "-purpose", "any", "-out", "verified")
}

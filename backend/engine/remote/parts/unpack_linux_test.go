package parts

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made are parts of which each file has that content.
func made(t *testing.T, content string) *Parts {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "image"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, s := range shipped {
		if err := os.WriteFile(filepath.Join(folder, s.name), []byte(s.name+content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Own(folder)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sent(t *testing.T, p *Parts) []byte {
	t.Helper()
	var b bytes.Buffer
	w, last := tar.NewWriter(&b), int64(0)
	err := p.Write(w, "", 0, func(n int64) { last = n })
	if err := errors.Join(err, w.Close()); err != nil || last != p.Size {
		t.Fatalf("%d bytes of %d are told, %v", last, p.Size, err)
	}
	return b.Bytes()
}

func nobody() (io.Closer, error) { return io.NopCloser(nil), nil }

// An update keeps what machines may need, and only that. One that breaks off anywhere changes
// nothing, and the next one mends it.
func TestUnpack(t *testing.T) {
	home := t.TempDir()
	bin, data := filepath.Join(home, "bin"), filepath.Join(home, "data")
	first, second := made(t, "1"), made(t, "2")
	if err := Unpack(bytes.NewReader(sent(t, first)), bin, data, nobody); err != nil {
		t.Fatal(err)
	}
	whole := sent(t, second)
	for cut := 0; cut < len(whole)-1024; cut += 512 { // the last 1024 bytes are zeros
		if err := Unpack(bytes.NewReader(whole[:cut]), bin, data, nobody); err == nil {
			t.Errorf("%d bytes of %d are taken for all", cut, len(whole))
		}
	}
	wrong := bytes.Replace(whole, []byte("runsc2"), []byte("runscX"), 1)
	if err := Unpack(bytes.NewReader(wrong), bin, data, nobody); err == nil || !strings.Contains(err.Error(), "not what was sent") {
		t.Errorf("a changed file is told as %v", err)
	}
	busy := errors.New("busy")
	if err := Unpack(bytes.NewReader(whole), bin, data, func() (io.Closer, error) { return nil, busy }); !errors.Is(err, busy) {
		t.Errorf("beside an agent: %v", err)
	}
	if got, err := Installed(bin); err != nil || got != first.Digest {
		t.Errorf("installed is %q, %v", got, err)
	}
	if err := os.MkdirAll(filepath.Join(bin+".new", "image"), 0o700); err != nil { // a killed one's
		t.Fatal(err)
	}
	for range 2 {
		if err := Unpack(bytes.NewReader(whole), bin, data, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Installed(bin); err != nil || got != second.Digest {
		t.Errorf("installed is %q, %v", got, err)
	}
	if mode, err := os.Stat(filepath.Join(bin, "agent")); err != nil || mode.Mode().Perm() != 0o755 {
		t.Errorf("the agent is %v, %v", mode, err)
	}
	sums, err := ReadSums(filepath.Join(bin, "sums"))
	if err != nil || len(sums) != len(shipped) {
		t.Errorf("sums are %v, %v", sums, err)
	}
	kept, _ := filepath.Glob(filepath.Join(data, "parts", "*", "*"))
	if len(kept) != 2 {
		t.Errorf("kept are %q", kept)
	}
	for _, file := range kept {
		b, err := os.ReadFile(file)
		if name := filepath.Base(file); err != nil || !strings.HasSuffix(string(b), name+"1") {
			t.Errorf("%s is %q, %v", file, b, err)
		}
	}
	if _, err := os.Stat(bin + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left is bin.new: %v", err)
	}
}

// A tar file that leads elsewhere is refused.
func TestUnpackStaysInside(t *testing.T) {
	for _, h := range []tar.Header{{Name: "../x", Typeflag: tar.TypeReg}, {Name: "/x", Typeflag: tar.TypeReg}, {Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/"}} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := errors.Join(w.WriteHeader(&h), w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := Unpack(&b, filepath.Join(t.TempDir(), "bin"), t.TempDir(), nobody); err == nil || !strings.Contains(err.Error(), "no file of a place") {
			t.Errorf("%s: %v", h.Name, err)
		}
	}
}

//go:build linux || darwin

package vm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/erofs/go-erofs"

	"github.com/forevervm/desktop/backend/machine"
)

func digest(path string) (string, error) {
	b, err := os.ReadFile(path)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

func TestTheDiskOfTheParts(t *testing.T) {
	from, folder := t.TempDir(), t.TempDir()
	content := map[string][]byte{
		"agent": []byte("agent"), "supervisor": nil, "runsc": bytes.Repeat([]byte("runsc"), 10_000), "base.erofs": bytes.Repeat([]byte("12345678"), 3*partsBlock/8),
	}
	for name, b := range content {
		if err := os.WriteFile(filepath.Join(from, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := Parts{filepath.Join(from, "agent"), filepath.Join(from, "supervisor"), filepath.Join(from, "runsc"), filepath.Join(from, "base.erofs")}
	made, err := p.disk(folder, digest)
	if err != nil {
		t.Fatal(err)
	}
	disk, err := os.Open(made)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	if found, err := disk.Stat(); err != nil || found.Size()%partsBlock != 0 || found.Size() > 100_000 {
		t.Errorf("the disk is %+v, %v: the image is not to be on it", found, err)
	}
	picture, err := os.Open(p.Image)
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Close()
	files, err := erofs.Open(disk, erofs.WithExtraDevices(picture))
	if err != nil {
		t.Fatal(err)
	}
	sums := ""
	for _, name := range []string{"agent", "supervisor", "runsc", "image/base.erofs"} {
		b, err := fs.ReadFile(files, name)
		if err != nil || !bytes.Equal(b, content[filepath.Base(name)]) {
			t.Errorf("%s is %.40q, %v", name, b, err)
		}
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(b), name)
	}
	if b, err := fs.ReadFile(files, "sums"); err != nil || string(b) != sums {
		t.Errorf("sums are %s, %v", b, err)
	}
	if found, err := fs.Stat(files, "runsc"); err != nil || found.Mode().Perm() != 0o755 {
		t.Errorf("runsc is %v, %v", found, err)
	}

	// It is made again for other parts alone, and is the only one.
	if again, err := p.disk(folder, digest); err != nil || again != made {
		t.Errorf("again, it is %s, %v", again, err)
	}
	if err := os.WriteFile(p.Agent, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := p.disk(folder, digest)
	if err != nil || other == made {
		t.Errorf("of another agent, it is %s, %v", other, err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(left) != 1 || left[0] != other {
		t.Errorf("left are %q, %v", left, err)
	}

	// What cannot be is told.
	if err := os.Truncate(p.Image, partsBlock+1); err != nil {
		t.Fatal(err)
	}
	if _, err := p.disk(folder, digest); err == nil {
		t.Error("an image that ends within a block is taken")
	}
	p.Runsc = filepath.Join(from, "none")
	if _, err := p.disk(folder, digest); !errors.Is(err, machine.ErrUnavailable) {
		t.Errorf("without a part: %v", err)
	}
}

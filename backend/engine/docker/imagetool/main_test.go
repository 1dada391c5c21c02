//go:build system

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// parts makes a folder as `make build` leaves it, with a real supervisor for that processor, which
// stands for runsc, too.
func parts(t *testing.T, arch string) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "supervisor"), "../../../cmd/supervisor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(dir, "supervisor"))
	if err == nil {
		err = errors.Join(
			os.WriteFile(filepath.Join(dir, "runsc"), program, 0o755),
			os.Mkdir(filepath.Join(dir, "image"), 0o755),
			os.WriteFile(filepath.Join(dir, "image", "base.erofs"), []byte("Python for "+arch), 0o600),
		)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The archive has an image for each processor, with the parts of that one and nothing else; and
// parts of two processors make none.
func TestArchive(t *testing.T) {
	folders := map[string]string{"amd64": parts(t, "amd64"), "arm64": parts(t, "arm64")}
	out := filepath.Join(t.TempDir(), "image.tar")
	if err := run(out, "", []string{folders["amd64"], folders["arm64"]}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if b, err := exec.Command("tar", "-C", dir, "-xf", out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("the index is %+v, %v", manifest, err)
	}
	for _, one := range manifest.Manifests {
		arch := one.Platform.Architecture
		image, err := index.Image(one.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil || config.Architecture != arch || config.OS != "linux" || config.Config.User != "1000:1000" {
			t.Errorf("%s: the configuration is %+v, %v", arch, config, err)
		}
		layers, err := image.Layers()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, l := range layers {
			r, err := l.Uncompressed()
			if err != nil {
				t.Fatal(err)
			}
			for archive := tar.NewReader(r); ; {
				h, err := archive.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, h.Name)
				b, err := io.ReadAll(archive)
				if err != nil {
					t.Fatal(err)
				}
				switch h.Name {
				case "image.erofs":
					if string(b) != "Python for "+arch {
						t.Errorf("%s: the root file system is %q", arch, b)
					}
				case "runsc", "supervisor":
					f, err := elf.NewFile(bytes.NewReader(b))
					if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; err != nil || f.Machine != want || h.Mode != 0o555 {
						t.Errorf("%s: %s is for %v, mode %o, %v", arch, h.Name, f.Machine, h.Mode, err)
					}
				}
			}
			r.Close()
		}
		if want := []string{"image.erofs", "runsc", "supervisor", "machine/", "template/"}; !slices.Equal(names, want) {
			t.Errorf("%s: there are %q", arch, names)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "oci-layout")); err != nil || !json.Valid(b) {
		t.Errorf("it is no OCI layout: %s, %v", b, err)
	}

	if err := os.Rename(filepath.Join(folders["arm64"], "runsc"), filepath.Join(folders["amd64"], "runsc")); err != nil {
		t.Fatal(err)
	}
	if err := run(out, "", []string{folders["amd64"]}); err == nil {
		t.Error("parts of two processors make an image")
	}
}

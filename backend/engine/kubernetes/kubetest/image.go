//go:build linux

package kubetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image makes an image that is one static program, as an OCI archive for Import. Pods know it by
// the whole name (as "forevervm.test/tool:1"), and start the program: it is /program.
func Image(t testing.TB, name, program string) (archive string) {
	t.Helper()
	archive = filepath.Join(t.TempDir(), "image.tar")
	if err := writeImage(archive, name, program); err != nil {
		t.Fatal(err)
	}
	return archive
}

func writeImage(archive, name, program string) error {
	files, err := tarOf(program)
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Config: v1.Config{Entrypoint: []string{"/program"}},
	})
	if err != nil {
		return err
	}
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return err
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: image, Descriptor: v1.Descriptor{Annotations: map[string]string{"io.containerd.image.name": name}},
	})
	folder, err := os.MkdirTemp("", "kubetest-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if _, err := layout.Write(folder, index); err != nil {
		return err
	}
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	return errors.Join(w.AddFS(os.DirFS(folder).(fs.StatFS)), w.Close(), out.Close())
}

// tarOf has the program as "program".
func tarOf(program string) ([]byte, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "program", Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}

// Command imagetool makes the sandbox image for Docker as one OCI archive, for every processor that
// parts are given of, and can put it into a registry from which `forevervm serve` has Docker pull
// it (FOREVERVM_REGISTRY). `make docker-image` runs it.
package main

import (
	"archive/tar"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/ociimage"
)

func main() {
	out := flag.String("o", "", "the archive to write; none where it is empty")
	push := flag.String("push", "", "repository of a registry to put the images into, such as registry.example/forevervm/sandbox")
	flag.Parse()
	if err := run(*out, *push, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "imagetool:", err)
		os.Exit(1)
	}
}

// run makes the image of the parts in each folder, which `make build` left there, each for another
// processor.
func run(out, push string, folders []string) error {
	if len(folders) == 0 {
		return errors.New("name the folders with supervisor, runsc and image/base.erofs")
	}
	tmp, err := os.MkdirTemp("", "imagetool-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	var index v1.ImageIndex = empty.Index
	for _, folder := range folders {
		image, tag, err := imageIn(folder, tmp)
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}},
		})
		if push != "" {
			if err := pushTo(push+":"+tag, image); err != nil {
				return err
			}
		}
	}
	if out == "" {
		return nil
	}
	if _, err := layout.Write(filepath.Join(tmp, "layout"), index); err != nil {
		return err
	}
	if err := pack(filepath.Join(tmp, "layout"), out+".partial"); err != nil {
		return errors.Join(err, os.Remove(out+".partial"))
	}
	return os.Rename(out+".partial", out)
}

func imageIn(folder, tmp string) (v1.Image, string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, "", err
	}
	supervisor := filepath.Join(folder, "supervisor")
	store := local.NewStore(local.Config{
		Runsc: filepath.Join(folder, "runsc"), Images: filepath.Join(folder, "image"), Data: tmp, Log: slog.New(slog.DiscardHandler),
	})
	parts, err := store.Parts("base")
	if err != nil {
		return nil, "", err
	}
	digest, err := store.Digest(supervisor)
	if err != nil {
		return nil, "", err
	}
	return ociimage.Published(parts, supervisor, digest)
}

func pushTo(to string, image v1.Image) error {
	ref, err := name.ParseReference(to)
	if err != nil {
		return err
	}
	return remote.Write(ref, image, remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// pack makes one archive of a folder's files.
func pack(folder, out string) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(f)
	err = archive.AddFS(os.DirFS(folder).(fs.StatFS))
	return errors.Join(err, archive.Close(), f.Sync(), f.Close())
}

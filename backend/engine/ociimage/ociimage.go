// Package ociimage makes the container image that machines run in, where their sandbox is in a
// container: of Docker, or in a pod of a cluster. Equal parts make an equal image.
package ociimage

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/iox"
)

// Where things are in a container. There is nothing else in it, no shell either.
const (
	Supervisor = "/supervisor"
	Runsc      = "/runsc"
	Image      = "/image.erofs"
	Machine    = "/machine"   // the machine's folder: the container's own volume
	Program    = "/forevervm" // the daemon, in its own image alone
	Agent      = "/agent"     // in its own image alone
	Template   = "/template"  // where Docker has the template's volume, which all share
)

// Owner is the number of the user and group that everything in a container runs as.
const Owner = 1000

// Tag stands for the image that is made of these parts.
func Tag(p local.Parts, supervisorDigest string) string {
	const layout = 1 // changes with what Of makes of the same parts
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s\n%s\n", layout, p.ImageDigest, p.RuntimeDigest, supervisorDigest))
	return hex.EncodeToString(sum[:12])
}

// Of makes the container image: one layer with the sandbox's root file system, one with the
// programs. Equal parts make an equal image.
func Of(p local.Parts, supervisor string) (v1.Image, error) {
	arch, err := Architecture(supervisor)
	if err != nil {
		return nil, err
	}
	made, err := mutate.AppendLayers(empty.Image,
		layerOf(entry{path: Image, source: p.Image, mode: 0o444}),
		layerOf(
			entry{path: Runsc, source: p.Runsc, mode: 0o555},
			entry{path: Supervisor, source: supervisor, mode: 0o555},
			entry{path: Machine, mode: 0o700, owner: Owner},
			entry{path: Template, mode: 0o700, owner: Owner},
		))
	if err != nil {
		return nil, err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{User: fmt.Sprintf("%d:%d", Owner, Owner), WorkingDir: "/", Labels: map[string]string{
		"org.opencontainers.image.title":       "ForeverVM sandbox",
		"org.opencontainers.image.description": "What ForeverVM's machines run in. It is loaded again when a machine needs it.",
	}}
	return mutate.ConfigFile(made, config)
}

// Architecture tells which processors a program is for.
func Architecture(program string) (string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("look into %s: %w", program, err)
	}
	defer func() { _ = f.Close() }()
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	default:
		return "", fmt.Errorf("%s is for %v", program, f.Machine)
	}
}

// entry is one file of a layer, or a folder where there is no source.
type entry struct {
	path, source string
	mode         int64
	owner        int
	link         string // what it is a symlink to, where it is one
}

// layer is a v1.Layer that is put together while it is read. It is not compressed: what is in it
// hardly gets smaller, and Docker mostly is on this computer.
type layer struct {
	entries []entry
	measure func() (measured, error)
}

type measured struct {
	hash v1.Hash
	size int64
}

func layerOf(entries ...entry) layer {
	l := layer{entries: entries}
	l.measure = sync.OnceValues(func() (measured, error) {
		r, err := l.Uncompressed()
		if err != nil {
			return measured{}, err
		}
		defer r.Close()
		hash, size, err := v1.SHA256(r)
		return measured{hash, size}, err
	})
	return l
}

func (l layer) Digest() (v1.Hash, error)             { m, err := l.measure(); return m.hash, err }
func (l layer) DiffID() (v1.Hash, error)             { return l.Digest() }
func (l layer) Size() (int64, error)                 { m, err := l.measure(); return m.size, err }
func (l layer) MediaType() (types.MediaType, error)  { return types.DockerUncompressedLayer, nil }
func (l layer) Compressed() (io.ReadCloser, error)   { return l.Uncompressed() }
func (l layer) Uncompressed() (io.ReadCloser, error) { return iox.Stream(l.write), nil }

func (l layer) write(w io.Writer) error {
	archive := tar.NewWriter(w)
	for _, e := range l.entries {
		if err := e.write(archive); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (e entry) write(archive *tar.Writer) error {
	h := &tar.Header{Typeflag: tar.TypeDir, Name: e.path[1:] + "/", Mode: e.mode, Uid: e.owner, Gid: e.owner}
	if e.link != "" {
		h.Typeflag, h.Name, h.Linkname = tar.TypeSymlink, e.path[1:], e.link
	}
	if e.source == "" {
		return archive.WriteHeader(h)
	}
	f, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h.Typeflag, h.Name, h.Size = tar.TypeReg, e.path[1:], info.Size()
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

// Published is the image of these parts as it lies in registries and archives: an OCI image with
// compressed layers, whose content is that of the image that is loaded into Docker. tag is its name
// in a registry's repository.
func Published(p local.Parts, supervisor, supervisorDigest string) (published v1.Image, tag string, err error) {
	made, err := Of(p, supervisor)
	if err != nil {
		return nil, "", err
	}
	published, err = compressed(made, p)
	return published, Tag(p, supervisorDigest), err
}

// Daemon is Published with the daemon in it, for a cluster that runs that, too. program is the
// forevervm program, for Linux.
func Daemon(p local.Parts, supervisor, program string) (v1.Image, error) {
	return with(p, supervisor, Program, program, "ForeverVM for a team")
}

// WithAgent is Published with the agent in it, for a pod that has many machines. agent is the
// program, for Linux.
func WithAgent(p local.Parts, supervisor, agent string) (v1.Image, error) {
	return with(p, supervisor, Agent, agent, "ForeverVM for a place that keeps its machines")
}

// with is Published with one more program, which it runs. program is where that comes from.
func with(p local.Parts, supervisor, path, program, title string) (v1.Image, error) {
	made, err := Of(p, supervisor)
	if err != nil {
		return nil, err
	}
	made, err = mutate.AppendLayers(made, layerOf(
		entry{path: path, source: program, mode: 0o555},
		entry{path: "/image", mode: 0o555},
		entry{path: "/image/base.erofs", link: ".." + Image}, // where programs look for it
	))
	if err != nil {
		return nil, err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Config.Entrypoint = []string{path}
	config.Config.Labels = map[string]string{"org.opencontainers.image.title": title}
	if made, err = mutate.ConfigFile(made, config); err != nil {
		return nil, err
	}
	return compressed(made, p)
}

// compressed is an image of these parts with compressed layers, as an OCI image.
func compressed(made v1.Image, p local.Parts) (v1.Image, error) {
	config, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	if arch, err := Architecture(p.Runsc); err != nil || arch != config.Architecture {
		return nil, errors.Join(err, fmt.Errorf("runsc is for %q, the supervisor for %q", arch, config.Architecture))
	}
	layers, err := made.Layers()
	if err != nil {
		return nil, err
	}
	published := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range layers {
		small, err := tarball.LayerFromOpener(l.Uncompressed, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestSpeed))
		if err != nil {
			return nil, err
		}
		if published, err = mutate.AppendLayers(published, small); err != nil {
			return nil, err
		}
	}
	config = config.DeepCopy()
	now, err := published.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.RootFS, config.History = now.RootFS, now.History
	return mutate.ConfigFile(published, config)
}

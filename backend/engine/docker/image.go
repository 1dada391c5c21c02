package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"sync"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
)

// Where things are in a container. There is nothing else in it, no shell either.
const (
	supervisorPath = "/supervisor"
	runscPath      = "/runsc"
	imagePath      = "/image.erofs"
	machinePath    = "/machine"  // the machine's folder: the container's own volume
	templatePath   = "/template" // the template's volume, which all share
	sharedPath     = "/shared"   // the folder that is shared with the machine; not there where none is
)

// owner is the number of the user and group that everything in a container runs as.
const owner = 1000

const repository = "forevervm/sandbox"

// imageRef names the image that is made of these parts. Docker's own digest of it would take
// reading a gigabyte. Every home has a name of its own for it, so that it can tell which it needs
// no more; the name without the home's is a prefix of all.
func imageRef(p local.Parts, supervisorDigest, home string) string {
	return repository + ":" + imageTag(p, supervisorDigest) + homeSuffix(home)
}

// imageTag stands for the image that is made of these parts.
func imageTag(p local.Parts, supervisorDigest string) string {
	const layout = 1 // changes with what imageOf makes of the same parts
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s\n%s\n", layout, p.ImageDigest, p.RuntimeDigest, supervisorDigest))
	return hex.EncodeToString(sum[:12])
}

func homeSuffix(home string) string { return "-" + home[:min(len(home), 8)] }

// imageOf makes the container image: one layer with the sandbox's root file system, one with the
// programs. Equal parts make an equal image.
func imageOf(p local.Parts, supervisor string) (v1.Image, error) {
	arch, err := architecture(supervisor)
	if err != nil {
		return nil, err
	}
	made, err := mutate.AppendLayers(empty.Image,
		layerOf(entry{path: imagePath, source: p.Image, mode: 0o444}),
		layerOf(
			entry{path: runscPath, source: p.Runsc, mode: 0o555},
			entry{path: supervisorPath, source: supervisor, mode: 0o555},
			entry{path: machinePath, mode: 0o700, owner: owner},
			entry{path: templatePath, mode: 0o700, owner: owner},
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
	config.Config = v1.Config{User: fmt.Sprintf("%d:%d", owner, owner), WorkingDir: "/", Labels: map[string]string{
		"org.opencontainers.image.title":       "ForeverVM sandbox",
		"org.opencontainers.image.description": "What ForeverVM's machines run in. It is loaded again when a machine needs it.",
	}}
	return mutate.ConfigFile(made, config)
}

// architecture tells which processors a program is for.
func architecture(program string) (string, error) {
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
func (l layer) Uncompressed() (io.ReadCloser, error) { return stream(l.write), nil }

// stream is what write writes.
func stream(write func(io.Writer) error) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	return r
}

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

// ensureImage makes sure that Docker has the image, and returns its name.
func (e *Engine) ensureImage(ctx context.Context, d *daemon, p local.Parts) (string, error) {
	api := d.api
	supervisor, err := e.store.Digest(e.cfg.Supervisor)
	if err != nil {
		return "", &machine.Error{Kind: machine.ErrUnavailable, Message: "The supervisor program is missing. Install ForeverVM again.", Cause: err}
	}
	home, err := e.homeID()
	if err != nil {
		return "", local.Describe(err)
	}
	ref := imageRef(p, supervisor, home)
	select {
	case e.loading <- struct{}{}:
		defer func() { <-e.loading }()
	case <-ctx.Done():
		return "", describe("The sandbox image is just being loaded into Docker", ctx.Err())
	}
	e.inUse[ref] = true
	quick, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	switch _, err := api.ImageInspect(quick, ref); {
	case err == nil:
		return ref, nil
	case !cerrdefs.IsNotFound(err):
		return "", e.failed(d, "Docker does not answer", err)
	}
	if borrowed, err := borrow(quick, api, imageRef(p, supervisor, ""), ref); err != nil {
		return "", e.failed(d, "Docker does not tell which images it has", err)
	} else if borrowed {
		e.removeOldImages(quick, api, supervisor, home)
		return ref, nil
	}
	e.cfg.Log.Info("loading the sandbox image into Docker", "image", ref)
	// Anyone who comes next needs it as well, so it goes on when this caller gives up.
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), loadPatience)
	defer cancel()
	defer e.news.busy(nil)
	if e.cfg.Registry != "" {
		err := e.pull(ctx, d, p, supervisor, ref)
		if err == nil {
			e.removeOldImages(ctx, api, supervisor, home)
			return ref, nil
		}
		e.cfg.Log.Warn("the sandbox image cannot be pulled, and is loaded from here", "registry", e.cfg.Registry, "error", err)
	}
	if err := load(ctx, api, p, e.cfg.Supervisor, ref, func(archive io.Reader, size int64) io.Reader {
		return &counted{Reader: archive, news: &e.news, what: "Loading the sandbox image into Docker", of: size}
	}); err != nil {
		return "", e.failed(d, "The sandbox image could not be loaded into Docker", err)
	}
	e.removeOldImages(ctx, api, supervisor, home)
	return ref, nil
}

// borrow names an image ref that another home has loaded, if there is one. prefix is what every
// home's name of it begins with.
func borrow(ctx context.Context, api *client.Client, prefix, ref string) (bool, error) {
	list, err := api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", prefix+"*"))})
	if err != nil || len(list) == 0 {
		return false, err
	}
	return true, api.ImageTag(ctx, list[0].ID, ref)
}

// removeOldImages removes those of this home's earlier versions, each a gigabyte, unless a
// container has it, or a machine had it since this program started. Who calls it is loading.
func (e *Engine) removeOldImages(ctx context.Context, api *client.Client, supervisor, home string) {
	current := maps.Clone(e.inUse)
	for _, p := range e.store.AllParts() {
		current[imageRef(p, supervisor, home)] = true
	}
	list, err := api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", repository))})
	for _, one := range list {
		for _, ref := range one.RepoTags {
			if strings.HasSuffix(ref, homeSuffix(home)) && !current[ref] {
				_, rm := api.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true})
				err = errors.Join(err, rm)
			}
		}
	}
	if err != nil {
		e.cfg.Log.Info("an image of an earlier version stays in Docker", "error", err)
	}
}

// load makes the image and loads it. watch sees the archive of that size go by.
func load(ctx context.Context, api *client.Client, p local.Parts, supervisor, ref string, watch func(io.Reader, int64) io.Reader) error {
	made, err := imageOf(p, supervisor)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	size, err := tarball.CalculateSize(map[name.Reference]v1.Image{tag: made})
	if err != nil {
		return err
	}
	archive := stream(func(w io.Writer) error { return tarball.Write(tag, made, w) })
	defer archive.Close()
	response, err := api.ImageLoad(ctx, watch(archive, size), client.ImageLoadWithQuiet(true))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// What goes wrong after the first byte is told in the answer's text.
	for answers := json.NewDecoder(io.LimitReader(response.Body, 1<<20)); ; {
		var said struct {
			Error string `json:"error"`
		}
		if err := answers.Decode(&said); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if said.Error != "" {
			return errors.New(said.Error)
		}
	}
}

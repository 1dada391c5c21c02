package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/iox"
	"github.com/forevervm/desktop/backend/machine"
)

// imagesFile keeps the digests of images in the data folder, by their tags.
const imagesFile = "kubernetes-images.json"

// Images are the container images that are made of the parts here. A cluster is told their digest:
// so its registry cannot give it another image.
type Images struct {
	Store      *local.Store
	Supervisor string // the program, for Linux
	Program    string // forevervm itself, for Linux; only for what is of the daemon
	Agent      string // the program, for Linux; only for hosts
	Log        *slog.Logger

	making sync.Mutex // held while a digest is found
}

// ImagesBeside are those of the parts that lie beside the program forevervm. What is found of them
// is kept in the data folder.
func ImagesBeside(program, data string) *Images {
	bin, log := filepath.Dir(program), slog.New(slog.DiscardHandler)
	store := local.NewStore(local.Config{Runsc: filepath.Join(bin, "runsc"), Images: filepath.Join(bin, "image"), Data: data, Log: log})
	return &Images{Store: store, Supervisor: filepath.Join(bin, "supervisor"), Program: program, Agent: filepath.Join(bin, "agent"), Log: log}
}

// Want fills in the images that a manifest is for, from a repository: the daemon's, too, where one
// is wanted.
func (i *Images) Want(ctx context.Context, w *Wanted, repository string, daemon bool) error {
	parts, err := i.Store.Parts("base")
	if err != nil {
		return err
	}
	if w.Processor, err = ociimage.Architecture(i.Supervisor); err != nil {
		return err
	}
	digest, err := i.Digest(ctx, parts)
	if err != nil {
		return err
	}
	w.Image = repository + "@" + digest
	if !daemon {
		return nil
	}
	if digest, err = i.DaemonDigest(ctx); err != nil {
		return err
	}
	w.Daemon = repository + "@" + digest
	return nil
}

// daemonTag begins the tags of images that have the daemon.
const daemonTag = "daemon-"

// hostTag begins the tags of images that have the agent.
const hostTag = "host-"

// Digest tells the digest of the image that is made of these parts. To find it the image is made,
// which takes some ten seconds, once for each version of the parts.
func (i *Images) Digest(ctx context.Context, p local.Parts) (string, error) {
	image, tag, err := i.sandbox(p)
	if err != nil {
		return "", err
	}
	return i.digest(ctx, tag, image)
}

// DaemonDigest tells the digest of the image with the daemon.
func (i *Images) DaemonDigest(ctx context.Context) (string, error) {
	image, tag, err := i.daemon()
	if err != nil {
		return "", err
	}
	return i.digest(ctx, tag, image)
}

// HostDigest tells the digest of the image with the agent.
func (i *Images) HostDigest(ctx context.Context) (string, error) {
	image, tag, err := i.host()
	if err != nil {
		return "", err
	}
	return i.digest(ctx, tag, image)
}

// sandbox makes the image of a machine's pod when it is called for, and tells its tag.
func (i *Images) sandbox(p local.Parts) (image func() (v1.Image, error), tag string, err error) {
	supervisor, err := i.Store.Digest(i.Supervisor)
	if err != nil {
		return nil, "", unavailable("The supervisor program is missing. Install ForeverVM again.", err)
	}
	return func() (v1.Image, error) {
		image, _, err := ociimage.Published(p, i.Supervisor, supervisor)
		return image, err
	}, ociimage.Tag(p, supervisor), nil
}

// daemon is sandbox for the daemon's image.
func (i *Images) daemon() (image func() (v1.Image, error), tag string, err error) {
	return i.with(i.Program, daemonTag, ociimage.Daemon)
}

// host is sandbox for the image with the agent.
func (i *Images) host() (image func() (v1.Image, error), tag string, err error) {
	return i.with(i.Agent, hostTag, ociimage.WithAgent)
}

// with is sandbox for an image that has one program more.
func (i *Images) with(program, kind string, of func(p local.Parts, supervisor, program string) (v1.Image, error)) (image func() (v1.Image, error), tag string, err error) {
	parts, err := i.Store.Parts("base")
	if err != nil {
		return nil, "", err
	}
	_, sandbox, err := i.sandbox(parts)
	if err != nil {
		return nil, "", err
	}
	digest, err := i.Store.Digest(program)
	if err != nil {
		return nil, "", unavailable("The program "+filepath.Base(program)+" cannot be read.", err)
	}
	return func() (v1.Image, error) { return of(parts, i.Supervisor, program) }, kind + sandbox + "-" + digest[:12], nil
}

// digest is that of an image, remembered by its tag.
func (i *Images) digest(ctx context.Context, tag string, make func() (v1.Image, error)) (string, error) {
	i.making.Lock()
	defer i.making.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	known := map[string]string{}
	file := filepath.Join(i.Store.Config().Data, imagesFile)
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		i.Log.Info("the file of image digests cannot be read, and is written again", "error", err)
	}
	if known[tag] != "" {
		return known[tag], nil
	}
	image, err := make()
	if err != nil {
		return "", unavailable("The image could not be made.", err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", unavailable("The image could not be made.", err)
	}
	known[tag] = digest.String()
	b, err = json.Marshal(known)
	if err == nil {
		err = iox.WriteWhole(file, b)
	}
	if err != nil {
		i.Log.Warn("an image's digest is not kept", "error", err)
	}
	return known[tag], nil
}

// Push puts the image of this version's machines into a repository of a registry, with the rights
// that Docker has there, the one for a host, and those of earlier versions that saved machines here
// still need. It returns their names with the digests.
func (i *Images) Push(ctx context.Context, repository string) (refs []string, err error) {
	parts, err := i.Store.Parts("base")
	if err != nil {
		return nil, err
	}
	old, err := i.Store.OldParts(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range append([]local.Parts{parts}, old...) {
		image, tag, err := i.sandbox(p)
		if err != nil {
			return refs, err
		}
		ref, err := push(ctx, repository, tag, image)
		if err != nil {
			return refs, err
		}
		refs = append(refs, ref)
	}
	image, tag, err := i.host()
	if err != nil {
		return refs, err
	}
	ref, err := push(ctx, repository, tag, image)
	if err != nil {
		return refs, err
	}
	return append(refs, ref), nil
}

// PushDaemon is Push for the image with the daemon.
func (i *Images) PushDaemon(ctx context.Context, repository string) (string, error) {
	image, tag, err := i.daemon()
	if err != nil {
		return "", err
	}
	return push(ctx, repository, tag, image)
}

func push(ctx context.Context, repository, tag string, make func() (v1.Image, error)) (string, error) {
	ref, err := name.NewTag(repository + ":" + tag)
	if err != nil {
		return "", machine.Invalid("%.200q cannot be a repository. Give one such as registry.example/forevervm/sandbox.", repository)
	}
	image, err := make()
	if err != nil {
		return "", unavailable("The image could not be made.", err)
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return "", fmt.Errorf("the image could not be put into the registry: %w. `docker login` gives this program the rights that it gives Docker", err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	return repository + "@" + digest.String(), nil
}

// image names the container image that is made of these parts.
func (e *Engine) image(ctx context.Context, p local.Parts) (string, error) {
	digest, err := e.images.Digest(ctx, p)
	return e.Where().Repository + "@" + digest, err
}

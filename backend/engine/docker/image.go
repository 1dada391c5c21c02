package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/iox"
	"github.com/forevervm/desktop/backend/machine"
)

// Where things are in a container.
const (
	supervisorPath = ociimage.Supervisor
	machinePath    = ociimage.Machine
	templatePath   = ociimage.Template
	sharedPath     = "/shared" // the folder that is shared with the machine; not there where none is
)

// owner is the number of the user and group that everything in a container runs as.
const owner = ociimage.Owner

const repository = "forevervm/sandbox"

// imageRef names the image that is made of these parts. Docker's own digest of it would take
// reading a gigabyte. Every home has a name of its own for it, so that it can tell which it needs
// no more; the name without the home's is a prefix of all.
func imageRef(p local.Parts, supervisorDigest, home string) string {
	return repository + ":" + ociimage.Tag(p, supervisorDigest) + homeSuffix(home)
}

func homeSuffix(home string) string { return "-" + home[:min(len(home), 8)] }

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
	made, err := ociimage.Of(p, supervisor)
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
	archive := iox.Stream(func(w io.Writer) error { return tarball.Write(tag, made, w) })
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

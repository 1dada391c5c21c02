package docker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/machine"
)

// pullPauses are how long is waited before each further try.
var pullPauses = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}

// pull has Docker fetch the image from the registry that was configured, and names it ref. What
// comes must be made of our own parts to the byte: a registry is not trusted.
func (e *Engine) pull(ctx context.Context, d *daemon, p local.Parts, supervisorDigest, ref string) error {
	from := e.cfg.Registry + ":" + ociimage.Tag(p, supervisorDigest)
	made, err := ociimage.Of(p, e.cfg.Supervisor)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		err := e.pullOnce(ctx, d.api, from)
		if err == nil {
			break
		}
		if try == len(pullPauses) || cerrdefs.IsNotFound(err) || ctx.Err() != nil {
			return err
		}
		e.cfg.Log.Info("the sandbox image is pulled once more", "from", from, "error", err)
		select {
		case <-time.After(pullPauses[try]):
		case <-ctx.Done():
		}
	}
	defer func() { _, _ = d.api.ImageRemove(context.WithoutCancel(ctx), from, image.RemoveOptions{}) }() // the name; ref keeps what it stands for
	came, err := d.api.ImageInspect(ctx, from)
	if err != nil {
		return err
	}
	var want []string
	layers, err := made.Layers()
	for _, l := range layers {
		id, idErr := l.DiffID()
		err = errors.Join(err, idErr)
		want = append(want, id.String())
	}
	if err != nil {
		return err
	}
	if !slices.Equal(came.RootFS.Layers, want) {
		return errors.New("what the registry gave is another image than it should be")
	}
	return d.api.ImageTag(ctx, from, ref)
}

func (e *Engine) pullOnce(ctx context.Context, api *client.Client, from string) error {
	auth, err := registryAuth(from)
	if err != nil {
		return err
	}
	answers, err := api.ImagePull(ctx, from, image.PullOptions{RegistryAuth: auth})
	if err != nil {
		return err
	}
	defer answers.Close()
	layers := map[string]machine.Preparation{} // by id
	for d := json.NewDecoder(answers); ; {
		var said struct {
			ID       string `json:"id"`
			Status   string `json:"status"`
			Error    string `json:"error"`
			Progress struct {
				Current int64 `json:"current"`
				Total   int64 `json:"total"`
			} `json:"progressDetail"`
		}
		if err := d.Decode(&said); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if said.Error != "" {
			return errors.New(said.Error)
		}
		if said.Status == "Downloading" && said.Progress.Total > 0 && len(layers) < 100 {
			layers[said.ID] = machine.Preparation{Done: said.Progress.Current, Total: said.Progress.Total}
			all := machine.Preparation{What: "Pulling the sandbox image from " + e.cfg.Registry}
			for _, l := range layers {
				all.Done, all.Total = all.Done+l.Done, all.Total+l.Total
			}
			e.news.busy(&all)
		}
	}
}

// registryAuth is who this user is for the registry, as Docker's own command knows it from `docker
// login`; empty where it does not.
func registryAuth(from string) (string, error) {
	ref, err := name.ParseReference(from)
	if err != nil {
		return "", fmt.Errorf("%q is no place in a registry: %w", from, err)
	}
	who, err := authn.DefaultKeychain.Resolve(ref.Context())
	if err != nil || who == authn.Anonymous {
		return "", err
	}
	known, err := who.Authorization()
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(known)
	return base64.URLEncoding.EncodeToString(b), err
}

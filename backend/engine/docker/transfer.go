package docker

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/iox"
)

// carriedPath is where a checkpoint lies that was carried into a volume that is mounted at mount.
func carriedPath(mount, id string) string { return path.Join(mount, id) }

// carryIn copies the checkpoint in the folder dir, named by its id, into the volume of a container
// that does not use it yet.
func (e *Engine) carryIn(ctx context.Context, d *daemon, container, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, carryPatience)
	defer cancel()
	archive := iox.Stream(func(w io.Writer) error {
		return checkpoint.Folder(filepath.Dir(dir)).Pack(ctx, filepath.Base(dir), owner, w)
	})
	defer archive.Close()
	err := d.api.CopyToContainer(ctx, container, machinePath, archive, copyOptions)
	if errors.Is(err, checkpoint.ErrUnusable) {
		return local.Unusable("The saved state of this machine is missing or damaged. An earlier checkpoint may still work.", err)
	}
	if err != nil {
		return e.failed(d, "The machine's saved state could not be copied into Docker", err)
	}
	return nil
}

var copyOptions = container.CopyToContainerOptions{}

// carryOut takes over the checkpoint id that a container has made, or all where id is empty, unless
// they are there already. Running or not, the container is not asked: what it holds may be
// anything. In taking over all, what is no saved state of its machine ends that and is no error: it
// never will be one, and must not stand in the way of what is.
func (e *Engine) carryOut(ctx context.Context, d *daemon, container string, to checkpoint.Folder, id string, memory int64, of carry.Content) error {
	ctx, cancel := context.WithTimeout(ctx, carryPatience)
	defer cancel()
	archive, _, err := d.api.CopyFromContainer(ctx, container, path.Join(machinePath, "checkpoints", id))
	if cerrdefs.IsNotFound(err) && id == "" {
		return nil
	}
	if err != nil {
		return e.failed(d, "The machine's saved state could not be copied out of Docker", err)
	}
	defer archive.Close()
	if err := carry.Home(ctx, archive, to, id, memory, of); err != nil {
		switch {
		case errors.Is(err, checkpoint.ErrUnusable) && id == "":
			e.cfg.Log.Warn("a container holds what is no saved state of its machine", "container", container, "error", err)
			return nil
		case errors.Is(err, checkpoint.ErrUnusable):
			return carry.NotOfMachine(err)
		}
		return describe("The machine's saved state could not be copied out of Docker", err)
	}
	return nil
}

// templateCopy is a template in a volume that all new machines read.
type templateCopy struct {
	volume     string
	checkpoint string // its id
}

// templateVolume makes sure that Docker has a copy of the template in the folder found.
func (e *Engine) templateVolume(ctx context.Context, d *daemon, p local.Parts, found string) (templateCopy, error) {
	home, err := e.homeID()
	if err != nil {
		return templateCopy{}, describe("The engine's own files cannot be used", err)
	}
	e.templating.Lock()
	defer e.templating.Unlock()
	quick, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	known, ok := e.templates[checkpointPath(found)]
	if ok {
		_, err := d.api.VolumeInspect(quick, known.volume)
		if err == nil {
			return known, nil
		}
		if !cerrdefs.IsNotFound(err) {
			return known, e.failed(d, "Docker does not answer", err)
		}
	}
	made := templateCopy{volume: "forevervm-template-" + random(), checkpoint: filepath.Base(found)}
	labels := map[string]string{homeLabel: home, runLabel: e.run, machineLabel: string(templateID)}
	if _, err := d.api.VolumeCreate(quick, volume.CreateOptions{Name: made.volume, Labels: labels}); err != nil {
		return made, e.failed(d, "The template's volume could not be made in Docker", err)
	}
	if err := e.fillTemplate(ctx, d, p, made, found, labels); err != nil {
		_ = d.api.VolumeRemove(context.WithoutCancel(ctx), made.volume, true)
		return made, err
	}
	e.templates[checkpointPath(found)] = made
	return made, nil
}

// fillTemplate copies the template by way of a container that is never started.
func (e *Engine) fillTemplate(ctx context.Context, d *daemon, p local.Parts, t templateCopy, found string, labels map[string]string) error {
	image, err := e.ensureImage(ctx, d, p)
	if err != nil {
		return err
	}
	relaxed, err := e.relaxed(ctx, d, image)
	if err != nil {
		return err
	}
	config, host := spec{image: image, labels: labels, volume: t.volume, cpus: d.cpus, relaxed: relaxed}.configs()
	quick, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	made, err := d.api.ContainerCreate(quick, config, host, nil, nil, t.volume)
	if err != nil {
		return e.failed(d, "The template could not be copied into Docker", err)
	}
	err = e.carryIn(ctx, d, made.ID, found)
	return errors.Join(err, e.removeContainer(ctx, d, made.ID, ""))
}

func (e *Engine) homeFile() string { return filepath.Join(e.store.Config().Data, "docker-home") }

// homeID tells our containers from those of other homes: it is made once.
func (e *Engine) homeID() (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.home != "" {
		return e.home, nil
	}
	if err := os.MkdirAll(filepath.Dir(e.homeFile()), 0o700); err != nil {
		return "", err
	}
	b, err := os.ReadFile(e.homeFile())
	if err == nil && len(bytes.TrimSpace(b)) == 0 || errors.Is(err, fs.ErrNotExist) {
		b = []byte(rand.Text() + "\n")
		err = iox.WriteWhole(e.homeFile(), b)
	}
	if err != nil {
		return "", err
	}
	e.home = string(bytes.TrimSpace(b))
	return e.home, nil
}

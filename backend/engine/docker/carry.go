package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
)

// carriedPath is where a checkpoint lies that was carried into a volume that is mounted at mount.
func carriedPath(mount, id string) string { return path.Join(mount, id) }

// carryIn copies the checkpoint in the folder dir, named by its id, into the volume of a container that has not been started yet.
func (e *Engine) carryIn(ctx context.Context, d *daemon, container, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, carryPatience)
	defer cancel()
	archive := stream(func(w io.Writer) error {
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

// carryOut takes over the checkpoint id that a container has made, or all where id is empty, unless they are there already. Running or not, the container
// is not asked: what it holds may be anything.
func (e *Engine) carryOut(ctx context.Context, d *daemon, container string, to checkpoint.Folder, id string, memory int64, accept func(checkpoint.Manifest) error) error {
	if id != "" {
		if _, err := to.Load(id); err == nil {
			return nil
		}
	}
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
	bound := most(memory)
	if id == "" {
		bound *= several
	}
	if _, err := to.Unpack(ctx, archive, bound, accept); err != nil {
		if errors.Is(err, checkpoint.ErrUnusable) {
			return &machine.Error{Kind: machine.ErrUnavailable, Message: "The container gave out something that is no saved state of its machine.", Cause: err}
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
	made := templateCopy{volume: "forevervm-template-" + strings.ToLower(rand.Text()[:8]), checkpoint: filepath.Base(found)}
	labels := map[string]string{homeLabel: home, machineLabel: string(templateID)}
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
	image, err := e.ensureImage(ctx, d.api, p)
	if err != nil {
		return err
	}
	config, host := spec{image: image, labels: labels, volume: t.volume, cpus: d.cpus}.configs()
	made, err := d.api.ContainerCreate(ctx, config, host, nil, nil, t.volume)
	if err != nil {
		return e.failed(d, "The template could not be copied into Docker", err)
	}
	err = e.carryIn(ctx, d, made.ID, found)
	return errors.Join(err, e.removeContainer(ctx, d, made.ID, ""))
}

func (e *Engine) homeFile() string { return filepath.Join(e.cfg.Data, "docker-home") }

// homeID tells our containers from those of other homes: it is made once.
func (e *Engine) homeID() (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.home != "" {
		return e.home, nil
	}
	if err := os.MkdirAll(e.cfg.Data, 0o700); err != nil {
		return "", err
	}
	file := e.homeFile()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(rand.Text() + "\n")
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	e.home = strings.TrimSpace(string(b))
	if e.home == "" {
		return "", errors.New(file + " is empty: remove it")
	}
	return e.home, nil
}

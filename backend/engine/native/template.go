//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// templatePatience bounds the making of a template: starting the interpreter, importing, saving.
const templatePatience = 3 * time.Minute

// template returns the folder of the template checkpoint for these parts, making it on first use.
func (e *Engine) template(ctx context.Context, p parts) (string, error) {
	dir := filepath.Join(e.cfg.Data, "templates", p.key())
	if found := templateIn(dir); found != "" {
		return found, nil
	}
	e.templates.Lock()
	defer e.templates.Unlock()
	lock, err := lockTemplates(ctx, filepath.Join(e.cfg.Data, "templates"))
	if err != nil {
		return "", describe(err)
	}
	defer lock.Close()
	// A supervisor whose daemon died may be just saving it.
	if err := waitUnlocked(ctx, dir); err != nil {
		return "", err
	}
	if found := templateIn(dir); found != "" {
		return found, nil
	}
	if err := e.removeTemplates(p); err != nil {
		return "", describe(err)
	}
	start := time.Now()
	// Others wait for it as well: it is made even when this caller gives up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), templatePatience)
	defer cancel()
	s, err := e.launch(ctx, p.config(dir), protocol.Start{Name: "template"})
	if err != nil {
		return "", err
	}
	go func() {
		for range s.Frames() { // no instruction runs in a template
		}
	}()
	if _, err := s.Stop(ctx); err != nil {
		s.Kill()
		<-s.Ended()
		return "", err
	}
	<-s.Ended()
	found := templateIn(dir)
	if found == "" {
		return "", &machine.Error{Kind: machine.ErrUnavailable, Message: "The template for new machines could not be made."}
	}
	e.cfg.Log.Info("template made", "took", time.Since(start), "image", filepath.Base(p.image))
	return found, nil
}

// discardTemplate removes a template that cannot be restored, unless another has taken its place meanwhile.
func (e *Engine) discardTemplate(ctx context.Context, p parts, found string) error {
	e.templates.Lock()
	defer e.templates.Unlock()
	lock, err := lockTemplates(ctx, filepath.Join(e.cfg.Data, "templates"))
	if err != nil {
		return err
	}
	defer lock.Close()
	dir := filepath.Join(e.cfg.Data, "templates", p.key())
	if templateIn(dir) != found {
		return nil
	}
	return os.RemoveAll(dir)
}

// templateIn returns the folder of the checkpoint in a template's folder; empty when there is none.
func templateIn(dir string) string {
	list, err := folder(dir).List()
	if err != nil || len(list) == 0 {
		return ""
	}
	return folder(dir).Path(list[len(list)-1].ID)
}

// removeTemplates removes those of earlier parts, and half-made ones. Only with the lock.
func (e *Engine) removeTemplates(p parts) error {
	root := filepath.Join(e.cfg.Data, "templates")
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	keep := map[string]bool{"lock": true}
	images, _ := filepath.Glob(filepath.Join(e.cfg.Images, "*.erofs"))
	for _, image := range images {
		digest, err := e.digests.of(image)
		if err == nil {
			other := parts{runtime: p.runtime, imageDigest: digest}
			keep[other.key()] = other.key() != p.key()
		}
	}
	for _, entry := range entries {
		if !keep[entry.Name()] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, entry.Name())))
		}
	}
	return err
}

// lockTemplates keeps two daemons with one data folder from making the same template.
func lockTemplates(ctx context.Context, root string) (*os.File, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(root, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			f.Close()
			return nil, err
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for the template: %w", ctx.Err())
		}
	}
}

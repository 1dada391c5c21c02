//go:build linux

package native

import (
	"context"
	"os"
	"path/filepath"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/link"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// firstName is the folder in a template's for its first life: what lies in the template's own is
// taken for finished.
const firstName = "first"

// template returns the folder of the template checkpoint for these parts, making it on first use.
func (e *Engine) template(ctx context.Context, p local.Parts) (string, error) {
	return e.store.Template(ctx, p, func(ctx context.Context, dir string) error {
		// A supervisor whose daemon died may be just saving it.
		if err := waitUnlocked(ctx, dir); err != nil {
			return err
		}
		if list, err := local.Checkpoints(dir).List(); err == nil && len(list) > 0 {
			return nil
		}
		first := filepath.Join(dir, firstName)
		if err := waitUnlocked(ctx, first); err != nil {
			return err
		}
		if err := os.RemoveAll(first); err != nil { // left by a crash
			return local.Describe(err)
		}
		saved, err := e.live(ctx, config(p, first), protocol.Start{Name: "template"})
		if err != nil {
			return err
		}
		again := config(p, dir)
		again.Restore = local.Checkpoints(first).Path(saved)
		if _, err := e.live(ctx, again, protocol.Start{Name: "template", Clone: true, Rehearse: true}); err != nil {
			return err
		}
		if err := os.RemoveAll(first); err != nil {
			e.cfg.Log.Warn("the first life of the template stays on the disk", "folder", first, "error", err)
		}
		return nil
	})
}

// live has a machine come into memory and saves it, and returns the checkpoint's id. No instruction
// runs that leaves anything: in a second life, the one that Rehearse asks for. Only what began from
// a checkpoint notes which memory it used first; new machines have that read ahead.
func (e *Engine) live(ctx context.Context, cfg sandbox.Config, start protocol.Start) (checkpoint string, err error) {
	if err := os.MkdirAll(cfg.Machine, 0o700); err != nil {
		return "", local.Describe(err)
	}
	s, err := e.alone(ctx, cfg, link.Options{Start: start}, link.Connect)
	if err != nil {
		return "", err
	}
	go func() {
		for range s.Frames() { // there are none
		}
	}()
	info, err := s.Stop(ctx)
	if err != nil {
		s.Kill()
	}
	<-s.Ended()
	return info.ID, err
}

//go:build linux

package native

import (
	"context"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/link"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

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
		if err := e.live(ctx, config(p, dir), protocol.Start{Name: "template"}); err != nil {
			return err
		}
		if err := e.rehearse(ctx, p, dir); err != nil {
			e.cfg.Log.Warn("new machines will start slower: what they use first is not known", "error", err)
		}
		return nil
	})
}

// rehearse gives a template a second life, in whose place it comes: only what began from a
// checkpoint notes which memory it used first, and new machines have that read ahead.
func (e *Engine) rehearse(ctx context.Context, p local.Parts, dir string) error {
	folder := local.Checkpoints(dir)
	list, err := folder.List()
	if err != nil || len(list) == 0 {
		return err
	}
	first := list[len(list)-1].ID
	cfg := config(p, dir)
	cfg.Restore = folder.Path(first)
	if err := e.live(ctx, cfg, protocol.Start{Name: "template", Clone: true, Rehearse: true}); err != nil {
		return err
	}
	return folder.Delete(first)
}

// live starts a machine in which nothing is run, and saves it.
func (e *Engine) live(ctx context.Context, cfg sandbox.Config, start protocol.Start) error {
	s, err := e.alone(ctx, cfg, link.Options{Start: start}, link.Connect)
	if err != nil {
		return err
	}
	go func() {
		for range s.Frames() { // no instruction runs in a template
		}
	}()
	if _, err := s.Stop(ctx); err != nil {
		s.Kill()
		<-s.Ended()
		return err
	}
	<-s.Ended()
	return nil
}

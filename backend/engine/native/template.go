//go:build linux

package native

import (
	"context"

	"github.com/forevervm/desktop/backend/engine/local"
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
		s, err := e.launch(ctx, config(p, dir), link.Options{Start: protocol.Start{Name: "template"}}, link.Connect)
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
	})
}

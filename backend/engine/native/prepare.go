//go:build linux

package native

import "context"

// Prepare makes the template of the image that machines get by default, so that the first machine is ready at once. It
// does nothing where the template is there.
func (e *Engine) Prepare(ctx context.Context) error {
	p, err := e.parts("base")
	if err != nil {
		return err
	}
	_, err = e.template(ctx, p)
	return err
}

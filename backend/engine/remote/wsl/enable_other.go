//go:build !windows

package wsl

import (
	"context"

	"github.com/forevervm/desktop/backend/machine"
)

// Enable takes a step that Look has named. Only Windows has WSL.
func (p *Place) Enable(context.Context, Step) (restart bool, err error) {
	return false, machine.Invalid("Only Windows has WSL.")
}

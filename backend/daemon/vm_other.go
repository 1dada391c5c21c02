//go:build !linux && !darwin

package daemon

import "github.com/forevervm/desktop/backend/engine/local"

// openVM makes nothing: no hypervisor that we know is on this system.
func (d *daemon) openVM(string, *local.Store) (*virtualMachine, error) { return nil, nil }

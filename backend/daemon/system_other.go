//go:build !linux

package daemon

import (
	"context"
	"log/slog"
)

// watchSystem has nobody to listen to here: logging out and shutting down end the daemon by a
// signal, which saves the machines as well.
func watchSystem(context.Context, *slog.Logger, func(context.Context) error) {}

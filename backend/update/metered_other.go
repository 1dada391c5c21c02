//go:build !linux && !windows

package update

import "context"

// metered is not asked here: macOS tells of it in a framework that takes a compiler for C.
func metered(context.Context) bool { return false }

//go:build !linux

package local

// beside does something that takes a processor for a while.
func beside(do func() error) error { return do() }

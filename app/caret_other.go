//go:build !linux || !desktop

package app

// stopBlinking is for GTK only.
func stopBlinking() {}

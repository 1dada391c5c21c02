//go:build !linux

package daemon

// freeMemory is not known here: only the machines' own limits hold.
var freeMemory func() (int64, error)

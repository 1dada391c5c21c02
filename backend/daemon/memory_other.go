//go:build !linux && !darwin

package daemon

// freeMemory is not known here: only the machines' own limits hold.
var freeMemory func() (int64, error)

func totalMemory() int64 { return 0 }

// Command runsc is gVisor's program of that name, with the system call filter of our sandboxes
// compiled at build time. gVisor's own Bazel build compiles those of all its configurations in; its
// Go branch leaves them out, and every start of a sandbox then spends a quarter of its time on
// compiling one (measured: 45 ms of 180).
package main

import (
	"runtime"
	"runtime/debug"
	_ "unsafe" // for go:linkname

	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/runsc/boot/filter"
	"gvisor.dev/gvisor/runsc/cli/maincli"
	"gvisor.dev/gvisor/runsc/version"
)

// Set by the linker; named so that it is linked in.
var _ = version.Version()

// gVisor has no other way in: Bazel replaces the file that this variable is in.
//
//go:linkname precompiledPrograms gvisor.dev/gvisor/runsc/boot/filter.precompiledPrograms
var precompiledPrograms map[string]precompiledseccomp.Program

func main() {
	collectLate()
	_ = filter.ListPrecompiled() // registers the empty set of the Go branch, once
	precompiledPrograms = filters()
	maincli.Main()
}

// collectLate puts off Go's first collection of garbage from a heap of 4 MiB to one of 32. A
// sandbox that comes into memory needs 20 and makes hardly any garbage, and would be collected four
// times on the way, by the processors that the restoring waits for. From the first one on it is as
// usual.
func collectLate() {
	usual := debug.SetGCPercent(800)
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { debug.SetGCPercent(usual) })
}

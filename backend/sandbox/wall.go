//go:build linux

package sandbox

import (
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"

	"github.com/forevervm/desktop/backend/sandbox/seccomp"
)

// filterCalls puts this supervisor, and all of its sandbox, behind a filter of system calls.
// Process 1 of a container is behind the same one already.
func filterCalls() error {
	if os.Getpid() == 1 {
		return nil
	}
	return seccomp.Install()
}

// confine leaves the outer supervisor nothing but its folder and its control group, where the
// kernel has Landlock; as much of it as the kernel has. The inner one has a root of its own, and
// must be able to mount, which Landlock forbids: it is started before.
func (h *home) confine() error {
	if os.Getpid() == 1 { // of a container, which is that wall
		return nil
	}
	may := []landlock.Rule{landlock.RWDirs(h.folder).WithRefer()}
	for _, dir := range h.group.Folders() {
		may = append(may, landlock.RWDirs(dir).IgnoreIfMissing())
	}
	return landlock.V7.BestEffort().RestrictPaths(may...)
}

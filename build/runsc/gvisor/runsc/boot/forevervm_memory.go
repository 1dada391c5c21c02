// ForeverVM's part of gVisor: the patch "idle memory" (build/runsc/patches) calls this.

package boot

import (
	rtdebug "runtime/debug"
	"sync"
	"time"
)

const (
	// giveBackAfter is how long after the last restore or save a sandbox gives memory back: the
	// kernel's state leaves more garbage than a machine in use makes in minutes.
	giveBackAfter = 2 * time.Second
	// collectAt is by how many percent its own memory grows before Go collects garbage in a save.
	collectAt = 400
)

var givingBack = sync.OnceValue(func() *time.Timer { return time.AfterFunc(giveBackAfter, rtdebug.FreeOSMemory) })

// giveBackMemory returns to the system what the sandbox's own memory does not need, soon.
func giveBackMemory() { givingBack().Reset(giveBackAfter) }

// collectLater has Go leave garbage alone, up to a bound, while the kernel's state is encoded, for
// which the machine stands still. Call done after that.
func collectLater() (done func()) {
	before := rtdebug.SetGCPercent(collectAt)
	return func() {
		rtdebug.SetGCPercent(before)
		giveBackMemory()
	}
}

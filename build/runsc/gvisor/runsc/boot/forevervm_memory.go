// ForeverVM's part of gVisor: the patch "idle memory" (build/runsc/patches) calls this.

package boot

import (
	rtdebug "runtime/debug"
	"sync"
	"time"
)

// giveBackAfter is how long after the last restore or save a sandbox gives memory back: what is
// decoded or encoded leaves more garbage than a machine in use makes in minutes.
const giveBackAfter = 2 * time.Second

var givingBack = sync.OnceValue(func() *time.Timer { return time.AfterFunc(giveBackAfter, rtdebug.FreeOSMemory) })

// giveBackMemory returns to the system what the sandbox's own memory does not need, soon.
func giveBackMemory() { givingBack().Reset(giveBackAfter) }

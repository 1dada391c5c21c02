package daemon

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// lookForRest is how often it is looked whether the daemon rests.
	lookForRest = 5 * time.Second
	// restful is how much a daemon that rests allocates at most in that time: front ends ask it how
	// it goes.
	restful = 1 << 20
	// worthwhile is how much must have been allocated since memory was last given back for a
	// collection to be worth its work.
	worthwhile = 8 << 20
)

// giveBack gives memory that work has left behind back to the system once the daemon rests. Go by
// itself keeps about twice what was in use at its last collection, and the next one comes with more
// work, or minutes later.
func giveBack(ctx context.Context) {
	ticker := time.NewTicker(lookForRest)
	defer ticker.Stop()
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var before, given uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(allocated)
		now := allocated[0].Value.Uint64()
		if now-before < restful && now-given > worthwhile {
			debug.FreeOSMemory()
			given = now
		}
		before = now
	}
}

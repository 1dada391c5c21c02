package daemon

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// What work has left behind is with the system again soon after.
func TestRestGivesMemoryBack(t *testing.T) {
	const garbage = 64 << 20
	held := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapSys - m.HeapReleased)
	}
	synctest.Test(t, func(t *testing.T) {
		go giveBack(t.Context())
		work := make([]byte, garbage)
		for i := range work {
			work[i] = 1
		}
		before := held()
		runtime.KeepAlive(work)
		time.Sleep(3 * lookForRest)
		synctest.Wait()
		if after := held(); before-after < garbage*3/4 {
			t.Errorf("%d MiB are held after rest, %d before", after>>20, before>>20)
		}
	})
}

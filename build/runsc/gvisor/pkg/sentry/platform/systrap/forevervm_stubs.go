// ForeverVM's part of gVisor: the patch "stub processes" (build/runsc/patches) calls this.

package systrap

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// maxStubs is how many stub processes there are at most, one for each process inside that runs. The
// limit inside, 1,000, is for threads, too, which take few of the computer's, and is not kept to
// where many are started at once. A stub takes two of the 4,096 processes and threads that a
// sandbox has of the computer: without those that are left, gVisor's own threads and the
// supervisor's could not be made, and both would end.
const maxStubs = 600

var stubs atomic.Int32

// mayHaveStub says whether one more stub process may be made.
func mayHaveStub() bool { return stubs.Load() < maxStubs }

// firstThread makes a stub process's first thread, unless it has one. Where the system lets us make
// no more, as under a fork bomb, the stub waits in the pool until it does, and who wanted it is
// told what Linux says then: gVisor ends, and with it the machine, on an error that has no number.
func (s *subprocess) firstThread() error {
	if s.numSysmsgThreads > 0 {
		return nil
	}
	if err := s.createSysmsgThread(); err != nil {
		globalPool.markAvailable(s)
		return unix.EAGAIN
	}
	s.numSysmsgThreads++
	return nil
}

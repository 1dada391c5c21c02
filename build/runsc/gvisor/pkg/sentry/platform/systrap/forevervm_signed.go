// ForeverVM's part of gVisor: the patch "signed pointers" (build/runsc/patches) calls this.

package systrap

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// pointerKeys are all that pointers are signed with.
const pointerKeys = unix.PR_PAC_APIAKEY | unix.PR_PAC_APIBKEY | unix.PR_PAC_APDAKEY | unix.PR_PAC_APDBKEY

// leavePointersUnsigned turns off pointer authentication, as ARM calls it, in this thread and in
// the stub processes that come of it. A program that is restored has other keys than before: what
// it has signed is of no use then, and it would die when it returns from a function. Linux refuses
// where the processor signs nothing, and before 5.13.
func leavePointersUnsigned() {
	if runtime.GOARCH == "arm64" {
		_ = unix.Prctl(unix.PR_PAC_SET_ENABLED_KEYS, pointerKeys, 0, 0, 0)
	}
}

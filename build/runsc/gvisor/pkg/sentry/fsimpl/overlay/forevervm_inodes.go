// ForeverVM's part of gVisor: the patch "one device" (build/runsc/patches) calls this.

package overlay

// shownIno is how a file is numbered that a layer numbers ino. No two are alike: layers' own
// numbers are smaller than 2^40, as are those of folders. The result is less than 2^53, up to which
// JavaScript is exact.
func shownIno(ino uint64, isUpper bool) uint64 {
	if isUpper {
		return ino | 1<<40
	}
	return ino | 2<<40
}

// Package overlay is part of gVisor's; build/runsc/build.sh adds this file to it.
//
// gVisor says of an overlay's files that they are on the devices of its layers, and of its folders that they are on another: each file is taken for a mount
// point. Here all are on one device.
package overlay

// shownIno is how a file is numbered that a layer numbers ino. No two are alike: layers' own numbers are smaller than 2^40, as are those of folders. The
// result is less than 2^53, up to which JavaScript is exact.
func shownIno(ino uint64, isUpper bool) uint64 {
	if isUpper {
		return ino | 1<<40
	}
	return ino | 2<<40
}

package checkpoint

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// spareName is the file in a running machine's scratch folder that its next checkpoint is
	// written over.
	spareName = "spare.img"
	// SpareAge is how old that may be, since it was made: what lies in the system's memory for half
	// a minute it writes to the disk, for nothing.
	SpareAge = 20 * time.Second
)

// leaveSpare takes the pages out of a checkpoint that is being removed, in dir, and leaves them for
// the machine's next one: to write over what is in memory takes half of the time, and less, of
// writing into memory that has to be found first, and the machine stands still meanwhile. Where it
// does not run, there is no scratch folder, and nothing is left. What somebody else has a name for
// is not to change.
func (f Folder) leaveSpare(dir string) {
	if pages := filepath.Join(dir, pagesName); fit(pages) {
		_ = os.Rename(pages, filepath.Join(filepath.Dir(string(f)), "scratch", spareName))
	}
}

// UseSpare has the checkpoint written over what an older one has left, where there is something.
func (p *Pending) UseSpare() {
	if spare := filepath.Join(filepath.Dir(p.Dir), spareName); fit(spare) {
		_ = os.Rename(spare, filepath.Join(p.Dir, pagesName))
	}
}

// RemoveSpare removes what was left, in a machine's scratch folder, where there is something.
func RemoveSpare(scratch string) {
	_ = os.Remove(filepath.Join(scratch, spareName)) // else it goes with the folder, when the machine leaves memory
}

// fit says whether a file can be written over: it is nobody else's, nobody still reads from it, and
// it is young.
func fit(path string) bool {
	const wanted = unix.STATX_TYPE | unix.STATX_NLINK | unix.STATX_BTIME
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, wanted, &st)
	if err != nil || st.Mask&wanted != wanted || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		return false
	}
	age := time.Since(time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)))
	return age >= 0 && age < SpareAge && unread(path)
}

// unread says whether no sandbox reads memory from a checkpoint's pages, this machine's or a fork's
// that has dropped its name for them: who may do so holds a lock on the file (build/runsc, patch
// "unread memory"), from before the name goes until it has read all or ended.
func unread(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd) // and with it goes the lock
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
}

// hold keeps the next checkpoint from being written over the files of the one in the folder dir
// until release is called, and returns the checksums of its memory; nil where there are none.
func hold(dir string) (sums []byte, release func()) {
	pages, err := os.OpenFile(filepath.Join(dir, pagesName), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, func() {}
	}
	release = func() { _ = pages.Close() } // it is only read; with it goes the lock
	if unix.Flock(int(pages.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return nil, release
	}
	if m, err := Load(dir); err == nil && m.Sums != nil { // where it is still in its place, it was when the lock was taken
		sums, _ = loadSums(dir) // without them, blocks are compared
	}
	return sums, release
}

package docker

import "golang.org/x/sys/unix"

// freeIn is how many bytes are free on the disk of dir; -1 where that cannot be told.
func freeIn(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return -1
	}
	return int64(st.Bavail) * st.Bsize
}

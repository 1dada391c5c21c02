//go:build unix

package daemon

import "golang.org/x/sys/unix"

// freeDisk is how many bytes this user may still write where dir lies.
func freeDisk(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil //nolint:gosec,unconvert // types differ between systems
}

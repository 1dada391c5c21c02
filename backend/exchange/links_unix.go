//go:build unix

package exchange

import (
	"os"
	"syscall"
)

// links returns how many names a file has on its disk.
func links(file *os.File) (uint64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return uint64(info.Sys().(*syscall.Stat_t).Nlink), nil
}

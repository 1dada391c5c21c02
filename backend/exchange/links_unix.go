//go:build unix

package exchange

import (
	"os"
	"syscall"
)

// links returns how many names a file has on its disk.
func links(file *os.File) (int, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return int(info.Sys().(*syscall.Stat_t).Nlink), nil
}

//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// openShared opens the folder that the machine is to see. It is nil where there is none, and where
// it cannot be had, which the text then says.
func openShared(cfg Config) (*bind, string) {
	if cfg.Shared == "" {
		return nil, ""
	}
	fd, err := openFolder(cfg.Shared)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return nil, protocol.UnsharedGone
	case err != nil:
		fmt.Fprintln(os.Stderr, "supervisor: the shared folder is not opened:", err)
		return nil, protocol.UnsharedRefused
	}
	// Programs in it are gVisor's to start, like those of the image, so it is not noexec.
	b := &bind{target: filepath.Join(reservedPath, sharedName), fd: fd, isDir: true}
	if !cfg.Writable {
		b.flags = unix.MS_RDONLY
	}
	return b, ""
}

// openFolder opens a folder by a path that leads through folders alone: a link that somebody has
// put into it since the folder was chosen leads nowhere.
func openFolder(path string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open("/", flags, 0)
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if err != nil {
			return -1, err
		}
		var next int
		next, err = unix.Openat(fd, name, flags, 0)
		unix.Close(fd)
		fd = next
	}
	return fd, err
}

// show mounts the folder in the private root, and says whether it is there as it should be. Folders
// with other disks mounted in them cannot be shown by a user who may not take these away.
func (b *bind) show(root string) bool {
	// The sandbox's file server has fewer rights than we have, and would not start.
	err := unix.Faccessat(b.fd, ".", unix.R_OK|unix.X_OK, 0)
	if err == nil {
		if err = b.mount(root); err == nil {
			return true
		}
		_ = unix.Unmount(root+b.target, unix.MNT_DETACH) // rather none than one that may be written to
	}
	var number unix.Errno // without the path, which has no place in a log
	_ = errors.As(err, &number)
	fmt.Fprintln(os.Stderr, "supervisor: the shared folder is not shown:", number)
	return false
}

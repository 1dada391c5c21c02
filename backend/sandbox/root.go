//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// errNoProc says that a fresh /proc may not be mounted here.
var errNoProc = errors.New("/proc cannot be mounted here")

// buildRoot gives this process, which must be alone in its mount name space, a root that holds
// runsc, the image, the scratch folder, the checkpoint, /proc and three devices, and nothing else
// of the computer. The paths in it are the same everywhere (gVisor compares them at a restore). It
// says why the folder that is to be shared is not: nothing else depends on it.
func buildRoot(cfg Config, ownPIDs bool) (unshared string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("%w: make the mounts private: %w", errForbidden, err)
	}
	shared, unshared := openShared(cfg)
	if shared != nil {
		defer unix.Close(shared.fd)
	}
	// Opened first, since the new root is mounted over our folder, the one place that is sure to
	// exist. Neither the image nor what the machine writes can be noexec: gVisor maps its programs'
	// code from there.
	binds := []bind{
		{source: cfg.Runsc, target: runscPath, flags: unix.MS_RDONLY},
		{source: cfg.Image, target: imagePath, flags: unix.MS_RDONLY},
		{source: filepath.Join(cfg.Folder(), filepath.Base(scratchPath)), target: scratchPath},
		{source: "/dev/null", target: "/dev/null", device: true},
		{source: "/dev/zero", target: "/dev/zero", device: true},
		{source: "/dev/urandom", target: "/dev/urandom", device: true},
	}
	restore := cfg.Restore
	if cfg.Spare != "" {
		restore = filepath.Join(cfg.Spare, restoreName)
	}
	if restore != "" {
		binds = append(binds, bind{source: restore, target: checkpointPath, flags: unix.MS_RDONLY | unix.MS_NOEXEC})
	}
	if cfg.Template != "" {
		binds = append(binds, bind{source: cfg.Template, target: templatePath, flags: unix.MS_RDONLY | unix.MS_NOEXEC})
	}
	if !ownPIDs {
		binds = append(binds, bind{source: "/proc", target: "/proc", recursive: true})
	}
	for i := range binds {
		if err := binds[i].open(); err != nil {
			return "", err
		}
		defer unix.Close(binds[i].fd)
	}
	root := cfg.Folder()
	if err := unix.Mount("root", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,size=32m,nr_inodes=4096"); err != nil {
		return "", fmt.Errorf("%w: mount the private root: %w", errForbidden, err)
	}
	for _, b := range binds {
		if err := b.mount(root); err != nil {
			return "", err
		}
	}
	if ownPIDs {
		if err := mountProc(root); err != nil {
			return "", err
		}
	}
	if err := mountReserved(root); err != nil {
		return "", err
	}
	if shared != nil && !shared.show(root) {
		unshared = protocol.UnsharedRefused
	}
	// runsc builds the sandbox's own root in /tmp.
	for _, d := range []string{emptyPath, bundlePath, "/tmp"} {
		if err := os.MkdirAll(root+d, 0o700); err != nil {
			return "", err
		}
	}
	return unshared, enterRoot(root)
}

func mountProc(root string) error {
	if err := os.Mkdir(root+"/proc", 0o700); err != nil {
		return err
	}
	err := unix.Mount("proc", root+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if errors.Is(err, unix.EPERM) {
		return errNoProc
	}
	return err
}

// mountReserved makes the empty, read-only sources of the reserved mount points.
func mountReserved(root string) error {
	dir := root + reservedPath
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("reserved", dir, "tmpfs", flags, "mode=0755,size=4k,nr_inodes=32"); err != nil {
		return fmt.Errorf("mount the reserved folders: %w", err)
	}
	for _, r := range reserved {
		if err := os.Mkdir(filepath.Join(dir, r.name), 0o755); err != nil {
			return err
		}
	}
	return unix.Mount("", dir, "", flags|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

// enterRoot makes root the root of the mount name space and lets go of the old one.
func enterRoot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the private root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the computer's root: %w", err)
	}
	return unix.Chdir("/")
}

// bind is one file or folder of the computer that the private root shows.
type bind struct {
	source, target string
	flags          uintptr // beyond nosuid and nodev
	device         bool    // a device node: nodev would make it useless
	recursive      bool

	fd    int
	isDir bool
}

func (b *bind) open() error {
	fd, err := unix.Open(b.source, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", b.source, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return err
	}
	b.fd, b.isDir = fd, st.Mode&unix.S_IFMT == unix.S_IFDIR
	return nil
}

func (b *bind) mount(root string) error {
	target := root + b.target
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if b.isDir {
		if err := os.MkdirAll(target, 0o700); err != nil {
			return err
		}
	} else if err := os.WriteFile(target, nil, 0o600); err != nil {
		return err
	}
	flags := uintptr(unix.MS_BIND)
	if b.recursive {
		flags |= unix.MS_REC
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", b.fd), target, "", flags, ""); err != nil {
		return fmt.Errorf("show %s: %w", b.source, err)
	}
	if b.recursive {
		return nil
	}
	// A user name space must repeat the flags that the source's mount is locked to.
	var fs unix.Statfs_t
	if err := unix.Statfs(target, &fs); err != nil {
		return err
	}
	want := b.flags | unix.MS_NOSUID
	if !b.device {
		want |= unix.MS_NODEV
	}
	if err := unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|want|lockedFlags(fs.Flags), ""); err != nil {
		return fmt.Errorf("restrict %s: %w", b.source, err)
	}
	return nil
}

// lockedFlags turns statfs's flags into mount's.
func lockedFlags(st int64) uintptr {
	var flags uintptr
	for _, p := range []struct {
		st    int64
		mount uintptr
	}{
		{unix.ST_RDONLY, unix.MS_RDONLY}, {unix.ST_NOSUID, unix.MS_NOSUID}, {unix.ST_NODEV, unix.MS_NODEV}, {unix.ST_NOEXEC, unix.MS_NOEXEC},
		{unix.ST_NOATIME, unix.MS_NOATIME}, {unix.ST_NODIRATIME, unix.MS_NODIRATIME}, {unix.ST_RELATIME, unix.MS_RELATIME},
	} {
		if st&p.st != 0 {
			flags |= p.mount
		}
	}
	return flags
}

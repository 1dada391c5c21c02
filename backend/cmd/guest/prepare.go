//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/engine/remote/vm/control"
)

// Where things lie once the root is switched.
const (
	partsFolder = "/parts"
	dataFolder  = "/data"
)

// seed is an empty file system for a new data disk, packed.
var seed []byte

// prepare does what needs no disk.
func (g *guest) prepare() error {
	if err := loadModules("/lib"); err != nil {
		return err
	}
	var err error
	if seed, err = os.ReadFile("/data.ext4.gz"); err != nil {
		return err
	}
	if err := switchRoot(); err != nil {
		return fmt.Errorf("switch the root: %w", err)
	}
	for _, m := range []struct {
		what, at, kind string
		flags          uintptr
		options        string
	}{
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"sysfs", "/sys", "sysfs", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"devtmpfs", "/dev", "devtmpfs", unix.MS_NOSUID, "mode=0755"},
		{"devpts", "/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "ptmxmode=0666,mode=0620"},
		{"tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"cgroup2", "/sys/fs/cgroup", "cgroup2", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777,size=25%"},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.what, m.at, m.kind, m.flags, m.options); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	if err := console(); err != nil {
		return err
	}
	g.boot = bootID()
	// The supervisors make groups of their own, with limits, beside us.
	for _, controller := range []string{"memory", "pids", "cpu"} {
		if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+"+controller), 0); err != nil {
			say("machines are not held to their share of %s from outside: %v", controller, err)
		}
	}
	return unix.Sethostname([]byte("forevervm"))
}

// loadModules loads what the file order in a folder names, in that order.
func loadModules(folder string) error {
	order, err := os.ReadFile(filepath.Join(folder, "order"))
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(order)) {
		file, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(file.Fd()), "", 0)
		file.Close()
		// One is of no use where its device is not there, such as vsock's under some hypervisors.
		if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("load the module %s: %w", name, err)
		}
	}
	return nil
}

// switchRoot makes an empty file system in memory the root. In the initial one, sandboxes could not
// change theirs, and in a chroot they would get no user name space.
func switchRoot() error {
	for _, old := range []string{"/init", "/lib", "/data.ext4.gz", "/dev"} {
		if err := os.RemoveAll(old); err != nil { // it takes memory
			return err
		}
	}
	if err := os.Mkdir("/root", 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := unix.Mount("tmpfs", "/root", "tmpfs", 0, "mode=0755,size=16m"); err != nil {
		return err
	}
	if err := unix.Chdir("/root"); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return err
	}
	return errors.Join(unix.Chroot("."), unix.Chdir("/"))
}

// console makes the console our standard error, and our input and output, too.
func console() error {
	fd, err := unix.Open("/dev/console", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return fmt.Errorf("open the console: %w", err)
	}
	for target := range 3 {
		if err := unix.Dup3(fd, target, 0); err != nil && fd != target {
			return err
		}
	}
	if fd > 2 {
		return unix.Close(fd)
	}
	return nil
}

// Where ext4 says what it is.
const (
	magicAt = 1024 + 0x38
	magic   = "\x53\xef"
	block   = 4096
)

// mountDisks mounts the disks, and makes a file system on a data disk that is new.
func (g *guest) mountDisks() error {
	parts, picture, data := disk(control.PartsDisk), disk(control.ImageDisk), disk(control.DataDisk)
	for _, folder := range []string{partsFolder, dataFolder} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	if err := unix.Mount(parts, partsFolder, "erofs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "device="+picture); err != nil {
		return fmt.Errorf("mount the programs: %w", err)
	}
	if err := makeData(data); err != nil {
		return fmt.Errorf("make a file system on a new data disk: %w", err)
	}
	// What is deleted goes back to the computer's disk. A file system that is damaged ends all, as
	// a power cut does: one that could only be read would look as if machines could run.
	if err := unix.Mount(data, dataFolder, "ext4", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOATIME, "discard,errors=panic"); err != nil {
		return fmt.Errorf("mount the data disk: %w", err)
	}
	if err := growData(data); err != nil { // machines can live on it as it is
		say("the file system on the data disk stays as large as it is: %v", err)
	}
	return nil
}

// makeData writes the seed onto a disk that is empty. The block by which a disk is known to have a
// file system comes last, so that one which was cut off is made again.
func makeData(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	first := make([]byte, block)
	if _, err := file.ReadAt(first, 0); err != nil {
		return err
	}
	switch {
	case string(first[magicAt:magicAt+2]) == magic:
		return nil
	case !bytes.Equal(first, make([]byte, block)):
		return errors.New("it is not empty, and has none")
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(seed))
	if err != nil {
		return err
	}
	zero := make([]byte, block)
	for at := int64(0); ; at += block {
		b := make([]byte, block)
		_, err := io.ReadFull(unpacked, b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if at == 0 {
			first = b
		} else if !bytes.Equal(b, zero) {
			if _, err := file.WriteAt(b, at); err != nil {
				return err
			}
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if _, err := file.WriteAt(first, 0); err != nil {
		return err
	}
	return file.Sync()
}

// resizeFS is EXT4_IOC_RESIZE_FS, which takes a number of blocks.
const resizeFS = 0x40086610

// growData grows the mounted file system to the size of its disk, which the computer may have made
// larger.
func growData(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	folder, err := os.Open(dataFolder)
	if err != nil {
		return err
	}
	defer folder.Close()
	blocks := uint64(size / block)
	var counted [2][4]byte // of ext4: how many blocks it has, the lower half and the upper
	for i, at := range []int64{1024 + 0x4, 1024 + 0x150} {
		if _, err := file.ReadAt(counted[i][:], at); err != nil {
			return err
		}
	}
	has := uint64(binary.LittleEndian.Uint32(counted[1][:]))<<32 | uint64(binary.LittleEndian.Uint32(counted[0][:]))
	if has >= blocks { // one that has had an error refuses even to stay as it is
		return nil
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, folder.Fd(), resizeFS, uintptr(unsafe.Pointer(&blocks))); errno != 0 {
		return errno
	}
	return nil
}

// disk is the device of one of the disks, which come in the order of package control.
func disk(number int) string { return "/dev/vd" + string(rune('a'+number)) }

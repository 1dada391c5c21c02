// ForeverVM's part of gVisor: the patch "lost files" (build/runsc/patches) calls this.

package gofer

import (
	"math"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/atomicbitops"
	"gvisor.dev/gvisor/pkg/context"
	"gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/sentry/vfs"
)

// A folder that a person shares is theirs: what is open of it in a sandbox may be changed, moved or
// removed at any time. gVisor would neither save nor restore the sandbox then. Here such a file is
// lost instead: the sandbox has it, and every use of it fails.

// lost is the descriptor of a file that is lost. No process can have it, so the kernel answers
// EBADF; the filter of system calls would end the sandbox for a negative one, and gVisor takes that
// for a handle at its gofer.
const lost = math.MaxInt32

// lose makes the file one that is lost. Its key is nobody's, so anyone who looks for its name finds
// what is there now.
func (i *directfsInode) lose() {
	i.fs.inodeMu.Lock()
	if i.fs.inodeByKey[i.inoKey] == &i.inode {
		delete(i.fs.inodeByKey, i.inoKey)
	}
	i.fs.inodeMu.Unlock()
	if i.controlFD >= 0 {
		_ = unix.Close(i.controlFD)
	}
	i.controlFD, i.inoKey = lost, inoKey{}
	i.readFD, i.writeFD = atomicbitops.FromInt32(lost), atomicbitops.FromInt32(lost)
}

// stillIs says whether what is found at a file's place may stand for it. Who reads goes on with
// what is there; who writes would spoil it, unless it is the very file and nobody has touched it
// since.
func (i *directfsInode) stillIs(stat *unix.Statx_t, d *dentry) error {
	if uint32(stat.Mode)&unix.S_IFMT != i.fileType() {
		return unix.ESTALE
	}
	if i.fs.savedDentryRW[d].write && dentryTimestampFromUnix(stat.Ctime) != i.ctime.Load() {
		return unix.ESTALE
	}
	return nil
}

// noteDead saves what is open and has no name any more. Its content stays where it is: it is the
// person's, and has no place in a checkpoint.
func (d *dentry) noteDead() error {
	d.noteHandles()
	if d.inode.fs.savedDeletedOpenDentries == nil {
		d.inode.fs.savedDeletedOpenDentries = make(map[*dentry]struct{})
	}
	d.inode.fs.savedDeletedOpenDentries[d] = struct{}{}
	return nil
}

func (d *dentry) noteHandles() {
	if rw := (savedDentryRW{read: d.inode.isReadHandleOk(), write: d.inode.isWriteHandleOk()}); rw.read || rw.write {
		d.inode.fs.savedDentryRW[d] = rw
	}
}

// noteRecursively is prepareSaveRecursive, to which it does not matter what has become of a file.
func (d *dentry) noteRecursively(ctx context.Context) {
	if d.inode.isRegularFile() {
		_ = d.inode.updateMetadata(ctx) // by which stillIs knows it again
	}
	d.noteHandles()
	d.childrenMu.Lock()
	defer d.childrenMu.Unlock()
	for name, child := range d.children {
		if child == nil {
			delete(d.children, name)
		} else if !child.inode.isSynthetic() {
			child.noteRecursively(ctx)
		}
	}
}

// syncWhatIsThere keeps nobody from saving a sandbox whose folder has gone, or is on a full disk.
func (fs *filesystem) syncWhatIsThere(ctx context.Context) error {
	if err := fs.Sync(ctx); err != nil {
		log.Infof("saved without having synced all files: %v", err)
	}
	return nil
}

// isThere says whether a restored folder can be used, be it that it cannot be listed.
func (d *dentry) isThere() bool { return d.inode.impl.(*directfsInode).controlFD >= 0 }

// restoreWhatIsThere restores what was open or looked at, below the root.
func (fs *filesystem) restoreWhatIsThere(ctx context.Context, opts *vfs.CompleteRestoreOptions) error {
	fs.root.restoreChildren(ctx, opts)
	n := 0
	for e := fs.syncableDentries.Front(); e != nil; e = e.Next() {
		if i := e.d.inode.impl.(*directfsInode); i.controlFD < 0 {
			i.lose()
			n++
		}
	}
	if n > 0 {
		log.Infof("forevervm: files that were open are lost: %d", n)
	}
	fs.savedDeletedOpenDentries = nil
	return nil
}

func (d *dentry) restoreChildren(ctx context.Context, opts *vfs.CompleteRestoreOptions) {
	d.childrenMu.Lock()
	defer d.childrenMu.Unlock()
	for _, child := range d.children {
		if child == nil || child.inode.isSynthetic() {
			continue
		}
		if child.restoreFile(ctx, opts) != nil {
			child.inode.impl.(*directfsInode).lose()
			continue // what is below it is lost, too
		}
		child.restoreChildren(ctx, opts)
	}
}

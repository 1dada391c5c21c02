#!/bin/sh
# Build runsc into build/bin. Its version is stamped, because gVisor refuses to restore what another version saved, and can only if it knows
# its own; nothing else of the checkout is in it, since checkpoints are bound to its digest.
set -eu
cd "$(dirname "$0")"
version=release-20260905.0-160fafc42237
architecture=$(go env GOARCH)
cache=../cache/runsc
[ "$architecture" = "$(go env GOHOSTARCH)" ] || cache=$cache-$architecture # and what generates code for it runs emulated
mkdir -p "$cache"
export CGO_ENABLED=0

# A copy of gVisor with what it has no flags for: two numbers that are made for servers, descriptors passed at a restore, and how pages come into memory.
go mod download gvisor.dev/gvisor
rm -rf "$cache/gvisor"
cp -r --no-preserve=mode "$(go list -m -f '{{.Dir}}' gvisor.dev/gvisor)" "$cache/gvisor"
change() { # FILE OLD NEW
    sed "s#$2#$3#" "$cache/gvisor/$1" >"$cache/changed"
    ! cmp -s "$cache/changed" "$cache/gvisor/$1" || { echo "build/runsc: $1 of gVisor does not say '$2' any more" >&2 && exit 1; }
    { echo '// Changed by the build of ForeverVM Desktop (build/runsc/build.sh).' && cat "$cache/changed"; } >"$cache/gvisor/$1"
}
# Pages were read and written by 128 threads, each of which took its share of the processors from the one that everything waits for.
change pkg/sentry/state/stateio/pagesfile.go 'pagesFileFDDefaultMaxParallel = 128' 'pagesFileFDDefaultMaxParallel = 1'
# Of the image, in memory as it is, a thousand files that nobody has open were remembered, and saved and restored with every machine.
change pkg/sentry/fsimpl/erofs/erofs.go 'defaultMaxCachedDentries = 1000' 'defaultMaxCachedDentries = 64'
# Only `run` passes descriptors beyond the three to the sandbox, where a checkpoint has them and a restore needs them.
change runsc/cmd/create.go 'UserLog:            c.userLog,' 'UserLog: c.userLog, PassFiles: passedFiles(),'
change runsc/cmd/restore.go 'UserLog:       r.userLog,' 'UserLog: r.userLog, PassFiles: passedFiles(),'
change runsc/cmd/run.go 'PassFiles:          fdMap,' 'PassFiles: passedFiles(),'
cp passed/passed.go "$cache/gvisor/runsc/cmd/passed.go"
# A restore spent most of its time in page faults of what it read into mapped memory. And it believed what it read: pages.sum has a checksum of each page.
change runsc/boot/controller.go 'stateio.NewPagesFileFDReaderDefault(int32(pagesFile.Release()))' 'stateio.NewPagesWriter(int32(pagesFile.Release()), o.ReleaseFD)'
change runsc/sandbox/sandbox.go 'opt.HavePagesFile = true' 'sums, err := os.Open(path.Join(imagePath, "pages.sum")); if err != nil { return err }; opt.FilePayload.Files, opt.HavePagesFile = append(opt.FilePayload.Files, sums), true'
cp pages/pages.go "$cache/gvisor/pkg/sentry/state/stateio/pageswriter.go"
# A restored sandbox runs at once, and of its memory only what it uses is read from the checkpoint.
change runsc/cmd/restore.go '"background", false' '"background", true'
change runsc/boot/restore.go '// Wait for page loading to complete if happening in the background.' 'r.cm.onRestoreDone(Savings{}) // and what is read later, later'
saving=pkg/sentry/pgalloc/save_restore.go
change $saving 'ulseg := amfl.unloaded.LowerBoundSegment(amfl.minUnstarted)' 'ulseg := amfl.unawaited()'
change $saving 'ev := apfl.lfStatus.Wait()' 'ev := apfl.waitForWork()'
change $saving 'apfl.priority.PushBack(aplFileRange{amfl, ulFR})' 'apfl.priority.PushBack(aplFileRange{amfl, ulFR}); apfl.lfStatus.Notify(aplLFPending)'
change $saving 'asyncMemoryFileLoad) awaitLoad(' 'asyncMemoryFileLoad) await('
change $saving 'amfl.unloaded.RemoveRangeWith(fr, func(ulseg aplUnloadedIterator) {' 'amfl.unloaded.RemoveRangeWith(fr, func(ulseg aplUnloadedIterator) { amfl.gone(ulseg.Range().Length())'
change pkg/sentry/pgalloc/pgalloc.go 'asyncPageLoad atomic.Pointer' 'needed needed; asyncPageLoad atomic.Pointer'
change $saving 'log.Infof("MemoryFile(%p): saved metadata in' 'if err := f.needed.save(w); err != nil { return err }; log.Infof("MemoryFile(%p): saved metadata in'
change $saving 'mfTimeline.Reached("metadata loaded")' 'if err := f.needed.load(r); err != nil { return err }; mfTimeline.Reached("metadata loaded")'
change $saving 'log.Infof("MemoryFile(%p): loaded page file offsets' 'amfl.readAhead(); log.Infof("MemoryFile(%p): loaded page file offsets'
change $saving 'apfl.ar.Close(); err' 'apfl.closeReader(); err'
change $saving 'apfs.aw.Finalize(); err' 'apfs.finalize(); err'
change $saving 'f.AwaitLoadAll(); err' 'f.settle(); err'
change $saving 'AsyncPagesFileSave) main() {' 'AsyncPagesFileSave) main() { unreadSources.RLock(); defer unreadSources.RUnlock()'
change $saving 'mfr.amfs.f.forEachMappingSlice(mfr' 'mfr.amfs.f.forEachSavedSlice(mfr'
change pkg/sentry/mm/address_space.go 'setMapUnit(32 << 20)' 'setMapUnit(unitToMap(pseg, ar))'
change pkg/sentry/mm/pma.go 'needInternalMappings && pma.internalMappings.IsEmpty() {' 'needInternalMappings \&\& (pma.internalMappings.IsEmpty() || !pseg.isLoaded(ar)) {'
change pkg/sentry/mm/pma.go 'err := pseg.getInternalMappingsLocked()' 'err := pseg.getInternalMappingsOfLocked(copyAR)'
change pkg/sentry/mm/lifecycle.go 'srcpseg.getInternalMappingsLocked()' 'srcpseg.getInternalMappingsOfLocked(srcpseg.Range())'
change pkg/sentry/mm/io.go 'err := pseg.getInternalMappingsLocked(); err != nil' 'err := pseg.getInternalMappingsOfLocked(ar); err != nil'
change pkg/sentry/mm/io.go 'err := pseg.getInternalMappingsLocked(); err == nil' 'err := pseg.getInternalMappingsOfLocked(pmaAR); err == nil'
cp unread/pgalloc/unread.go "$cache/gvisor/pkg/sentry/pgalloc/unread.go"
cp unread/mm/unread.go "$cache/gvisor/pkg/sentry/mm/unread.go"
# Who reads a checkpoint's pages as they are needed holds a lock on their file, so that nobody writes over it.
change runsc/sandbox/sandbox.go 'pf, err := os.OpenFile(pagesFileName, pagesReadFlags, 0)' 'pf, err := os.OpenFile(pagesFileName, pagesReadFlags, 0); if err == nil { _ = syscall.Flock(int(pf.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) }'
# A process that the system has no room for ended the sandbox, and a fork bomb left it none.
stub=pkg/sentry/platform/systrap/subprocess
change ${stub}_linux.go 'fmt.Errorf("createStub: failed to get clone")' 'unix.EAGAIN'
change $stub.go 'if sp := globalPool.fetchAvailable(); sp != nil {' 'if sp := globalPool.fetchAvailable(); sp != nil { if err := sp.firstThread(); err != nil { return nil, err }'
change $stub.go 'requests := make(chan any)' 'if !mayHaveStub() { return nil, unix.EAGAIN }; requests := make(chan any)'
change $stub.go '\tsp.unmap()' '\tstubs.Add(1); sp.unmap()'
change $stub.go 'err := sp.createSysmsgThread()' 'err := sp.firstThread()'
change $stub.go '\tsp.numSysmsgThreads++' ''
cp stubs/stubs.go "$cache/gvisor/pkg/sentry/platform/systrap/stubs.go"
# What a checkpoint is written over, where somebody has left an older one for it, may be longer.
change runsc/sandbox/sandbox.go 'pagesWriteFlags := os.O_CREATE | os.O_EXCL | os.O_RDWR' 'pagesWriteFlags := os.O_CREATE | os.O_RDWR'
change pkg/sentry/state/stateio/fdwriter.go 'FDWriter) Finalize() error {' 'FDWriter) Finalize() error { return unix.Ftruncate(int(w.fd.Load()), w.off)'
# A machine's limit was one of address space, most of which programs never use.
change pkg/sentry/mm/vma.go 'newUsageAS > limitAS {' 'newUsageAS > limitAS || !mm.mayMapLocked(ctx, opts, ar) {'
change pkg/sentry/mm/vma.go 'return v.realPerms.Write && v.private && !v.growsDown' 'return v.countsWhole()'
syscalls=pkg/sentry/mm/syscalls.go
change $syscalls 'newUsageAS > limitAS {' 'newUsageAS > limitAS || !mm.mayGrowLocked(ctx, vseg.ValuePtr(), oldSize, newSize) {'
change $syscalls 'MProtect(addr' 'MProtect(ctx context.Context, addr'
change $syscalls 'var didUnmapAS bool' 'if !mm.mayWriteLocked(ctx, ar, realPerms) { return linuxerr.ENOMEM }; var didUnmapAS bool'
change pkg/sentry/loader/vdso.go 'm.MProtect(' 'm.MProtect(ctx, '
change pkg/sentry/syscalls/linux/sys_mmap.go 'MProtect(' 'MProtect(t, '
change pkg/sentry/syscalls/linux/sys_mmap.go 'linux.MAP_STACK&flags != 0' '(linux.MAP_STACK|linux.MAP_NORESERVE)\&flags != 0'
change pkg/sentry/syscalls/linux/sys_mmap.go '// Back shared anonymous mappings' 'if !t.MemoryManager().MayShare(t, opts) { return 0, nil, linuxerr.ENOMEM } // Back shared anonymous mappings'
change $saving 'amfl.unloaded.InsertRange(maFR,' 'amfl.found(maFR.Length()); amfl.unloaded.InsertRange(maFR,'
change $saving 'ulseg = amfl.unloaded.Remove(ulseg).NextSegment() {' 'ulseg = amfl.unloaded.Remove(ulseg).NextSegment() { amfl.gone(ulseg.Range().Length())'
change $saving 'minUnloaded atomicbitops.Uint64' 'unread atomicbitops.Uint64; minUnloaded atomicbitops.Uint64'
cp used/mm/used.go "$cache/gvisor/pkg/sentry/mm/used.go"
cp used/pgalloc/used.go "$cache/gvisor/pkg/sentry/pgalloc/used.go"
# Memory that programs have asked for and never used was made, to be compared with zeros, and given back.
change pkg/sentry/pgalloc/save_restore.go 'zeroPage := make' 'unused, zeroPage := holes{f: f}, make'
change pkg/sentry/pgalloc/save_restore.go 'isZeroed := bytes.Equal(pg, zeroPage)' 'hole := !wasCommitted \&\& unused.at(off); isZeroed := hole || bytes.Equal(pg, zeroPage)'
change pkg/sentry/pgalloc/save_restore.go 'decommitAddPage(off)' 'if !hole { decommitAddPage(off) }'
cp holes/holes.go "$cache/gvisor/pkg/sentry/pgalloc/holes.go"
# Files of a folder that a person shares may have gone, or be others, when a machine is saved or comes back: it would do neither.
saving=pkg/sentry/fsimpl/gofer/save_restore.go
change $saving 'sd.d.prepareSaveDead(ctx)' 'sd.d.noteDead()'
change $saving 'fs.Sync(ctx)' 'fs.syncWhatIsThere(ctx)'
change $saving 'return fs.root.prepareSaveRecursive(ctx)' 'fs.root.noteRecursively(ctx); return nil'
change $saving '	if d.vfsd.IsDead() {' '	if d.vfsd.IsDead() \&\& !d.inode.isSynthetic() {'
change $saving 'fs.restoreRoot(ctx, &opts); err != nil {' 'fs.restoreRoot(ctx, \&opts); err != nil \&\& !fs.root.isThere() {'
change $saving 'fs.root.restoreDescendantsRecursive(ctx, &opts)' 'fs.restoreWhatIsThere(ctx, \&opts)'
change pkg/sentry/fsimpl/gofer/directfs_inode.go '	i.controlFD = controlFD' '	if err := i.stillIs(\&stat, d); err != nil { _ = unix.Close(controlFD); return err }; i.controlFD = controlFD'
change pkg/sentry/fsimpl/gofer/directfs_inode.go 'panic(fmt.Sprintf("directfsInode file type changed' 'return; panic(fmt.Sprintf("directfsInode file type changed'
# What could not be changed of a file was said to have been.
change pkg/sentry/fsimpl/gofer/gofer.go '// used anyway. (InteropModeShared inhibits' 'if failureErr != nil { return failureErr } // used anyway. (InteropModeShared inhibits'
# Each file was taken for a mount point.
overlay=pkg/sentry/fsimpl/overlay
change $overlay/overlay.go 'stat.DevMinor = d.devMinor.Load()' 'stat.DevMinor = d.fs.dirDevMinor; if !d.isDir() { stat.Ino = shownIno(stat.Ino, d.isCopiedUp()) }'
change $overlay/directory.go 'dirent.NextOff = int64(len(dirents) + 1)' 'if dirent.Type != linux.DT_DIR { dirent.Ino = shownIno(dirent.Ino, isUpper) }; dirent.NextOff = int64(len(dirents) + 1)'
cp onedevice/onedevice.go "$cache/gvisor/$overlay/onedevice.go"
# Looking at a pipe opened it, which whoever writes to it on the computer takes for a reader.
change pkg/sentry/fsimpl/gofer/directfs_inode.go 'range flags {' 'range unlooked(open, flags) {'
cp lost/lost.go "$cache/gvisor/pkg/sentry/fsimpl/gofer/lost.go"
{ cat go.mod && echo "replace gvisor.dev/gvisor => $cache/gvisor"; } >"$cache/go.mod"
cp go.sum "$cache/go.sum"

# An emulator cannot be asked what filters may do. Ending a process they may since Linux 4.14; what is built asks the kernel that it runs on.
asking=pkg/seccomp/seccomp_unsafe.go
if [ "$architecture" != "$(go env GOHOSTARCH)" ]; then
    cp "$cache/gvisor/$asking" "$cache/asking"
    change $asking 'if errno == unix.EINVAL ||' 'if errno == unix.ENOSYS { return true, nil }; if errno == unix.EINVAL ||'
fi
go run -modfile="$cache/go.mod" ./precompile >"$cache/filters.generated"
[ ! -e "$cache/asking" ] || mv "$cache/asking" "$cache/gvisor/$asking"
printf '{"Replace": {"%s": "%s"}}' "$PWD/filters.go" "$PWD/$cache/filters.generated" >"$cache/overlay.json"
go build -modfile="$cache/go.mod" -trimpath -buildvcs=false -overlay "$cache/overlay.json" \
    -ldflags "-s -w -X gvisor.dev/gvisor/runsc/version.version=$version" -o "${1:-../bin/runsc}" .

package local

import (
	"debug/buildinfo"
	"runtime/debug"
	"slices"
	"strings"
)

// What our runsc can do, and one of an earlier version may not that a machine still needs. The
// build names it as build tags (build/runsc/build.sh). So it can be read where runsc cannot run, on
// Windows and macOS. `go version -m build/bin/runsc` shows it.
const (
	// lostFiles: a machine comes back whatever has become of a shared file that it had open.
	lostFiles = "forevervm.lost_files"
	// checkedPages: each page that is read of a checkpoint is compared with its checksum.
	checkedPages = "forevervm.checked_pages"
)

// CanShow says whether a machine of these parts can be shown a folder.
func (p Parts) CanShow() bool { return p.can(lostFiles) }

// CheckPages says whether these parts compare what they read of a machine's memory.
func (p Parts) CheckPages() bool { return p.can(checkedPages) }

// can says whether runsc has a feature. One that cannot be read has none.
func (p Parts) can(feature string) bool {
	info, err := buildinfo.ReadFile(p.Runsc)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-tags" && slices.Contains(strings.Split(s.Value, ","), feature)
	})
}

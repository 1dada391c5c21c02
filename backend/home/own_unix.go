//go:build !windows

package home

import (
	"fmt"
	"os"
	"syscall"
)

// ownAlone fails where another user owns a folder, who could then put anything in it, or may write
// to it.
func ownAlone(dir string, info os.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s, where ForeverVM is to keep its files, belongs to another user, who could read and change them; "+
			"choose a folder of your own (--home or $%s), or run this as that user", dir, Variable)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("other users may write to %s, where ForeverVM keeps its files; take that right away (chmod go-w %q)", dir, dir)
	}
	return nil
}

// makePrivate takes a file from other users that somebody opened to them, say by copying it.
func makePrivate(file string) error {
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	if err := os.Chmod(file, 0o600); err != nil {
		return fmt.Errorf("other users may read the secret in %s, and that right cannot be taken away: %w", file, err)
	}
	return nil
}

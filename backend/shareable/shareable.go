// Package shareable says which folders of this computer may be shared with machines.
//
// What runs in a machine is written by a model and may mean harm, so a folder is refused with which
// it could get at more than what the person has in mind: ForeverVM's own files (its token opens
// every machine), other programs' settings and keys, the system, and everything above these. The
// rest is the person's to decide.
package shareable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/machine"
)

// Rules are what must not be shared.
type Rules struct {
	Home     string   // the person's
	Own      []string // folders of ForeverVM's files
	Programs string   // the folder of its programs: anyone who changes these runs outside of the sandbox
}

// Check returns what a folder is called without links, or an error that says why it may not be
// shared.
func (r Rules) Check(path string, writable bool) (string, error) {
	if !filepath.IsAbs(path) {
		return "", refuse(nil, "A folder is shared by its whole path, from the top of the disk. %q is not one.", path)
	}
	real, err := filepath.EvalSymlinks(filepath.Clean(path))
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(real)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse(err, "There is no folder %s on this computer. Check how it is written.", path)
	case err != nil:
		return "", refuse(err, "The folder %s cannot be opened. Give yourself the right to read it, or choose another.", path)
	case !info.IsDir():
		return "", refuse(nil, "%s is a file. Only folders can be shared: put it into one, or send it to the machine.", path)
	}
	if opened, err := os.Open(real); err != nil {
		return "", refuse(err, "The folder %s may not be read. Give yourself the right to read it, or choose another.", path)
	} else {
		opened.Close()
	}
	const instead = " Make a folder with just the files that the machine needs, and share that."
	up := above(real)
	for _, own := range r.Own {
		if within(up, own) || covers(info, own) {
			return "", refuse(nil, "ForeverVM keeps its own files in %s, or in a folder that is in it: code in the machine could use them to get at all your machines."+instead, path)
		}
	}
	if covers(info, r.Home) {
		return "", refuse(nil, "Your whole home folder is in %s, with the keys and passwords that programs keep there."+instead, path)
	}
	inside, private := r.private(up)
	if private {
		return "", refuse(nil, "Programs keep their settings, keys and passwords in %s."+instead, path)
	}
	if !inside && system(real, up) {
		return "", refuse(nil, "%s belongs to the system, and is no place for files that are to be shared."+instead, path)
	}
	if writable && r.Programs != "" && (within(up, r.Programs) || covers(info, r.Programs)) {
		return "", refuse(nil, "ForeverVM's programs are in %s: code in the machine that may change them could leave its sandbox. Share it without the right to change it, or share another folder.", path)
	}
	return real, nil
}

func refuse(cause error, format string, path string) error {
	return &machine.Error{Kind: machine.ErrInvalid, Message: fmt.Sprintf(format, path), Cause: cause}
}

// ancestor is a folder, or one that it is in.
type ancestor struct {
	path string
	info os.FileInfo
}

// above is the folder and all that it is in, up to the top. They are told by what they are, as one
// folder has many names where upper and lower case are the same.
func above(path string) (all []ancestor) {
	for {
		if info, err := os.Stat(path); err == nil {
			all = append(all, ancestor{path, info})
		}
		next := filepath.Dir(path)
		if next == path {
			return all
		}
		path = next
	}
}

// within says whether one of these is that folder.
func within(up []ancestor, folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && slices.ContainsFunc(up, func(a ancestor) bool { return os.SameFile(a.info, info) })
}

// covers says whether something is, or is in, the folder that info describes.
func covers(info os.FileInfo, path string) bool {
	if path == "" {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return slices.ContainsFunc(above(path), func(a ancestor) bool { return os.SameFile(a.info, info) })
}

// private says whether a folder is in the person's home, and whether it is one there in which
// programs keep what is theirs.
func (r Rules) private(up []ancestor) (inside, private bool) {
	home, err := os.Stat(r.Home)
	if err != nil {
		return false, false
	}
	for i, a := range up {
		if i > 0 && os.SameFile(a.info, home) {
			name := filepath.Base(up[i-1].path)
			return true, strings.HasPrefix(name, ".") || slices.Contains(programs[runtime.GOOS], strings.ToLower(name))
		}
	}
	return false, false
}

// programs are folders of the home that are the programs', beside hidden ones.
var programs = map[string][]string{"darwin": {"library"}, "windows": {"appdata"}, "linux": {"snap"}}

// system says whether a folder that is not in the person's home is the system's.
func system(path string, up []ancestor) bool {
	if slices.ContainsFunc(top[runtime.GOOS], func(folder string) bool { return within(up[:1], folder) }) {
		return true
	}
	for _, allowed := range media[runtime.GOOS] { // disks that were plugged in
		if ok, _ := filepath.Match(allowed, path); ok || slices.ContainsFunc(up, func(a ancestor) bool { ok, _ := filepath.Match(allowed, a.path); return ok }) {
			return false
		}
	}
	return slices.ContainsFunc(folders(), func(folder string) bool { return within(up, folder) })
}

var (
	// top are folders that may not be shared themselves; what is in them may, unless it is the
	// system's.
	top = map[string][]string{
		"linux":  {"/", "/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/var/tmp"},
		"darwin": {"/", "/Users", "/Volumes", "/private", "/private/tmp", "/opt"},
	}
	media = map[string][]string{"linux": {"/run/media/*/*", "/var/tmp/*"}, "darwin": {"/private/tmp/*", "/private/var/folders/*/*/T/*"}}
)

// folders are the system's, with all that is in them.
func folders() []string {
	switch runtime.GOOS {
	case "windows":
		var all []string
		for _, name := range []string{"SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData"} {
			if folder := os.Getenv(name); folder != "" {
				all = append(all, folder)
			}
		}
		return all
	case "darwin":
		return []string{"/Applications", "/Library", "/System", "/bin", "/cores", "/dev", "/private", "/sbin", "/usr"}
	}
	return []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/proc", "/root", "/run", "/sbin", "/snap", "/sys", "/usr", "/var"}
}

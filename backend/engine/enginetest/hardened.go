package enginetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Rows runs the check of each row of the tables in a document whose first row starts with "row". A
// row without a check is an error, and so is a check without a row.
func Rows(t *testing.T, document string, checks map[string]func(t *testing.T)) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !strings.HasPrefix(line, "| ") || name == "row" || name == "---" {
			continue
		}
		told[name] = true
		if check, ok := checks[name]; ok {
			t.Run(name, check)
		} else {
			t.Errorf("%s tells of %s, which nothing checks", document, name)
		}
	}
	for name := range checks {
		if !told[name] {
			t.Errorf("%s does not tell of %s", document, name)
		}
	}
}

// Status is what the kernel says of a process, by the names in /proc/PID/status, with one space
// between values.
func Status(t *testing.T, pid int) map[string]string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.Join(strings.Fields(value), " ")
	}
	return status
}

// Mount is a file system that a process sees.
type Mount struct {
	Kind     string // such as "tmpfs"
	Writable bool
}

// Mounts are those that a process sees, by where it sees them.
func Mounts(t *testing.T, pid int) map[string]Mount {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		t.Fatal(err)
	}
	mounts := map[string]Mount{}
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		mounts[fields[4]] = Mount{Kind: strings.Fields(after)[0], Writable: strings.HasPrefix(fields[5], "rw")}
	}
	return mounts
}

// Files lists the files below a folder, but for what lies in those of these names.
func Files(t *testing.T, root string, but ...string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = "/" + strings.TrimPrefix(path, root)
		if entry.IsDir() {
			if slices.Contains(but, path) {
				return filepath.SkipDir
			}
			return nil
		}
		files = append(files, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

//go:build linux

package sandbox

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// usage is what all processes of the sandbox, ours among them, take of the computer.
type usage struct {
	memory int64   // bytes, all in all
	python int64   // of these, what the programs inside hold, and what of it is still in the checkpoint only
	cpu    float64 // seconds
}

// measure adds up the processes in our PID name space. Python's memory is one file in memory that
// several processes map: it is counted once, as a file, and of the processes only what is theirs
// alone. Pages are those that the sandbox was restored from.
func measure(sandboxPID int, pages pagesFile) usage {
	var u usage
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return u
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		u.memory += anonymous(dir)
		u.cpu += cpuSeconds(dir)
	}
	held, unread := memoryFiles(filepath.Join("/proc", strconv.Itoa(sandboxPID)), pages)
	u.python = held + unread
	u.memory += held
	return u
}

// anonymous reads how much memory is a process's own.
func anonymous(dir string) int64 {
	f, err := os.Open(filepath.Join(dir, "status"))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// pagesFile is the file of a checkpoint that a machine's memory is in. Its zero value is none.
type pagesFile struct {
	key  fileKey
	size int64
}

type fileKey struct{ dev, ino uint64 }

// pagesName is what runsc calls it.
const pagesName = "pages.img"

func pagesIn(checkpoint string) pagesFile {
	var st unix.Stat_t
	if unix.Stat(filepath.Join(checkpoint, pagesName), &st) != nil {
		return pagesFile{}
	}
	return pagesFile{fileKey{st.Dev, st.Ino}, st.Size}
}

// memoryFiles adds up the files in memory that the process in this folder of /proc has open, and
// the bytes of the checkpoint's pages that it has not read yet. It reads a page when that is used.
// The offset of its descriptor says how many bytes it has read (build/runsc, patch "checked
// pages").
func memoryFiles(process string, pages pagesFile) (held, unread int64) {
	fds := filepath.Join(process, "fd")
	entries, err := os.ReadDir(fds)
	if err != nil {
		return 0, 0
	}
	seen := map[fileKey]int64{}
	for _, e := range entries {
		path := filepath.Join(fds, e.Name())
		target, err := os.Readlink(path)
		memory := strings.HasPrefix(target, "/memfd:")
		if err != nil || !memory && !strings.Contains(target, "/"+pagesName) {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(path, &st) != nil {
			continue
		}
		switch key := (fileKey{st.Dev, st.Ino}); {
		case memory:
			seen[key] = st.Blocks * 512
		case key == pages.key:
			unread = max(0, pages.size-offset(filepath.Join(process, "fdinfo", e.Name())))
		}
	}
	for _, n := range seen {
		held += n
	}
	return held, unread
}

// offset reads a descriptor's from what /proc says of it.
func offset(info string) int64 {
	b, err := os.ReadFile(info)
	if err != nil {
		return 0
	}
	first, _, _ := bytes.Cut(b, []byte("\n"))
	at, _ := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimPrefix(first, []byte("pos:")))), 10, 64)
	return at
}

// cpuSeconds reads the processor time of a process and of its children that have ended.
func cpuSeconds(dir string) float64 {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0
	}
	// "pid (name) state ppid …": the name may hold anything.
	_, rest, _ := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest)
	const utime, cstime, ticksPerSecond = 11, 14, 100
	if len(fields) <= cstime {
		return 0
	}
	var ticks int64
	for _, f := range fields[utime : cstime+1] {
		n, _ := strconv.ParseInt(string(f), 10, 64)
		ticks += n
	}
	return float64(ticks) / ticksPerSecond
}

// ForeverVM's part of gVisor: the patch "passed descriptors" (build/runsc/patches) calls this.

package cmd

import (
	"os"
	"strconv"
	"syscall"
)

// passedFiles are the descriptors from 3 on that the caller says to pass to the sandbox's first
// program, under the same numbers. It says so in the environment, as every command would need a
// flag; the sandbox's processes do not get the variable.
func passedFiles() map[int]*os.File {
	n, _ := strconv.Atoi(os.Getenv("RUNSC_PASSED"))
	_ = os.Unsetenv("RUNSC_PASSED") // its name is valid
	files := map[int]*os.File{}
	for fd := 3; fd < 3+n; fd++ {
		syscall.CloseOnExec(fd) // no other process gets it
		files[fd] = os.NewFile(uintptr(fd), "passed")
	}
	return files
}

//go:build !linux

package checkpoint

// leaveSpare is for machines that run on the system itself.
func (f Folder) leaveSpare(string) {}

// Package seccomp is the filter of system calls around a machine: the supervisor and every process
// of gVisor are behind it, with and without Docker. gVisor has a filter of its own further in. This
// one holds who has broken out of that.
package seccomp

import _ "embed"

// Profile is the filter as Docker reads it: Docker's default profile, and what gVisor needs to
// build its sandbox without any privilege; of sockets only those between local processes.
// seccomp_test.go makes it, and says which calls those are: `go test -run Seccomp -update`.
//
//go:embed seccomp.json
var Profile string

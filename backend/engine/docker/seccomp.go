package docker

import _ "embed"

// seccompProfile says which system calls a container may make: those of Docker's default profile,
// and what gVisor needs to build its sandbox without any privilege (seccomp_test.go makes it, and
// says which calls those are). Made again by `go test -run Seccomp -update`.
//
//go:embed seccomp.json
var seccompProfile string

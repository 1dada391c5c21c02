package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// SpecDigest names the base spec below. At a restore gVisor compares arguments, resource limits,
// mounts, user and annotations with the checkpoint's, so there is one spec for every machine, and
// checkpoints made with another one are refused, templates remade. What differs between machines is
// set by the runner after the restore.
var SpecDigest = sync.OnceValue(func() string {
	spec := baseSpec()
	spec.Process.Env, spec.Hostname = nil, "" // these may differ
	b, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it is a constant
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
})

// Paths in the private root. They are in annotations, which a restore compares: constant forever.
const (
	runscPath      = "/runsc"
	imagePath      = "/image.erofs"
	checkpointPath = "/checkpoint"
	templatePath   = "/checkpoint-template" // what a spare may restore in place of that
	scratchPath    = "/machine/scratch"     // what the machine writes, until it is saved
	runPath        = "/run"
	emptyPath      = "/run/empty"
	bundlePath     = "/run/bundle"
	reservedPath   = "/reserved"
)

const (
	hostname = "machine"
	// diskSize bounds what a machine can write. The file is sparse; a full disk of the computer is
	// ENOSPC inside, too.
	diskSize = "5g"
	// shmSize bounds /dev/shm, which is memory.
	shmSize = "256m"
	// start is the first program. It bounds the processes and threads inside, so that a fork bomb
	// gets EAGAIN and the machine lives; the runner, which needs no equal at a restore, raises that
	// (runner/forevervm_runner/__main__.py). Code that means harm can lift the limit (it is root);
	// the limits outside then end the sandbox.
	start = "echo 300 > /sys/fs/cgroup/pids/pids.max; exec /usr/bin/python3 -m forevervm_runner"
)

// sharedName is the reserved mount point of the folder that a person shares.
const sharedName = "shared"

// reserved are mount points whose sources are empty and read-only, but for the folder that a person
// shares: that is mounted over its source (shared.go). The others are for later features. All are
// the same to gVisor whether or not something is shared, as they must be at a restore.
var reserved = []struct{ name, destination, mode string }{
	{"work", "/mnt/work", "rw"},
	{"inbox", "/mnt/inbox", "ro"},
	{"outbox", "/mnt/outbox", "rw"},
	{sharedName, "/mnt/shared", "rw"}, // what may not be written to is mounted read-only where the sandbox has no say
	{"egress", "/run/egress", "rw"},
}

// capabilities are what root inside has, over what gVisor emulates only: enough for files of
// several users and for package managers, nothing that reaches into mounts, networks, or the clock.
var capabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID",
}

// baseSpec is the one spec of every machine. Nothing of the computer is in it: not its environment,
// name or processor count.
func baseSpec() *specs.Spec {
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"ro"}},
		// Only with this mount does gVisor count processes. This and /dev are memory without a
		// bound of their own, hence read-only; what is mounted or lies in them, controllers and
		// devices, can be written to all the same.
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"ro"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"ro"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "tmpfs", Options: []string{"mode=1777", "size=" + shmSize}},
		// gVisor puts an unbounded tmpfs over an empty /tmp. With something in it, /tmp is left on
		// the disk.
		{Destination: "/tmp/.machine", Type: "tmpfs", Source: "tmpfs", Options: []string{"ro", "size=4k"}},
	}
	for _, r := range reserved {
		mounts = append(mounts, specs.Mount{
			Destination: r.destination, Type: "bind", Source: reservedPath + "/" + r.name,
			Options: []string{"bind", "nosuid", "nodev", r.mode},
		})
	}
	return &specs.Spec{
		Version:  "1.0.0",
		Hostname: hostname,
		Root:     &specs.Root{Path: emptyPath},
		Annotations: map[string]string{
			"dev.gvisor.spec.rootfs.source":  imagePath,
			"dev.gvisor.spec.rootfs.type":    "erofs",
			"dev.gvisor.spec.rootfs.overlay": "dir=" + scratchPath,
			"dev.gvisor.spec.rootfs.options": "size=" + diskSize,
		},
		Mounts: mounts,
		Process: &specs.Process{
			Args: []string{"/bin/sh", "-c", start},
			Cwd:  "/root",
			Env:  environment(),
			Capabilities: &specs.LinuxCapabilities{
				Bounding: capabilities, Effective: capabilities, Permitted: capabilities,
			},
			NoNewPrivileges: true,
			Rlimits: []specs.POSIXRlimit{
				{Type: "RLIMIT_CORE", Hard: 0, Soft: 0},
				{Type: "RLIMIT_NOFILE", Hard: 65536, Soft: 8192},
			},
		},
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.MountNamespace}, {Type: specs.NetworkNamespace},
			},
		},
	}
}

// environment is all that Python finds in its environment: constructed, never inherited.
func environment() []string {
	return []string{
		"PATH=/root/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root",
		"USER=root",
		"LOGNAME=root",
		"SHELL=/bin/bash",
		"LANG=C.UTF-8",
		"LC_ALL=C.UTF-8",
		"TZ=UTC",
		"TERM=dumb",
		"PYTHONPATH=/opt/forevervm",
		"PYTHONUNBUFFERED=1",
		// The count of processors is the template's, not the computer's: more threads would only
		// compete.
		"OPENBLAS_NUM_THREADS=2",
		"OMP_NUM_THREADS=2",
		"MKL_NUM_THREADS=2",
		"NUMEXPR_NUM_THREADS=2",
		"MPLCONFIGDIR=/opt/forevervm/matplotlib",
		"PLOTLY_RENDERER=plotly_mimetype",
		"PIP_DISABLE_PIP_VERSION_CHECK=1",
		"PIP_ROOT_USER_ACTION=ignore",
		"PIP_BREAK_SYSTEM_PACKAGES=1",
	}
}

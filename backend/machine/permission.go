package machine

// Permission is what an AI app wants to do and a person allows or denies.
type Permission struct {
	ID   int64
	Kind PermissionKind
	App  string // what the app calls itself

	Machine    string // its name; empty for one that is yet to be made
	Checkpoint string // of PermissionRewind: where to
	Steps      int    // of PermissionRewind: how many are undone
	MemoryMB   int    // of PermissionMemory
	State      PermissionState
}

// PermissionKind says what an app wants to do.
type PermissionKind string

// Kinds of permissions.
const (
	PermissionRewind PermissionKind = "rewind" // go back over a lot of work
	PermissionMemory PermissionKind = "memory" // make a machine with more memory than usual
)

// PermissionState says how a permission stands.
type PermissionState string

// States of a permission.
const (
	PermissionWaiting PermissionState = "waiting"
	PermissionAllowed PermissionState = "allowed"
	PermissionDenied  PermissionState = "denied"
	PermissionExpired PermissionState = "expired" // nobody answered
)

const (
	maxPermissionMemoryMB = 1 << 20
	maxPermissionText     = 200 // bytes
)

// Check says what is wrong with what an app asks for; nil where nothing is.
func (p Permission) Check() error {
	switch {
	case len(p.Machine) > maxPermissionText || len(p.Checkpoint) > maxPermissionText:
		return Invalid("A name has at most %d bytes.", maxPermissionText)
	case p.Kind == PermissionRewind && (p.Machine == "" || p.Checkpoint == "" || p.Steps < 0):
		return Invalid("To ask for going back takes a machine, a checkpoint and the number of steps.")
	case p.Kind == PermissionMemory && (p.MemoryMB <= 0 || p.MemoryMB > maxPermissionMemoryMB):
		return Invalid("To ask for memory takes its size, in megabytes, at most %d.", maxPermissionMemoryMB)
	case p.Kind != PermissionRewind && p.Kind != PermissionMemory:
		return Invalid("A permission is %s or %s.", PermissionRewind, PermissionMemory)
	}
	return nil
}

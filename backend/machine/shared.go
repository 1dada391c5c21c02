package machine

// SharedPath is where code in a machine finds the folder that is shared with it. It is there, and
// empty, where none is.
const SharedPath = "/mnt/shared"

// SharedFolder is a folder of this computer that a machine sees. It is the machine's and not its
// states': a rewind leaves it as it is, and forks, parcels and what is compared have none.
type SharedFolder struct {
	Path     string `json:"path"` // absolute, and without a link in it
	Writable bool   `json:"writable,omitempty"`
}

// Unshared is why a machine does not see the folder that is shared with it.
type Unshared string

const (
	UnsharedGone    Unshared = "gone"    // it is not there
	UnsharedRefused Unshared = "refused" // the system does not let it be shown
	UnsharedOld     Unshared = "old"     // the machine's state is of a version that cannot show any
	UnsharedAway    Unshared = "away"    // the machine runs on another computer
)

// Sentence tells a person; empty where all is well.
func (u Unshared) Sentence() string {
	const empty = " The machine goes on without it: " + SharedPath + " is empty."
	switch u {
	case "":
		return ""
	case UnsharedGone:
		return "The folder that is shared with this machine is not there: it was moved or deleted, or its disk is not connected." + empty +
			" Bring it back and share it again, or stop sharing it."
	case UnsharedOld:
		return "The state that this machine is in was saved by an earlier version of ForeverVM, which cannot share folders." + empty
	case UnsharedAway:
		return "This machine runs in Docker on another computer, where the folder that is shared with it is not." + empty
	}
	return "The system does not let this machine see the folder that is shared with it: it may not be read, or other disks are mounted in it." + empty +
		" Change that and share it again, or share another."
}

package machine

// SharedPath is where code in a machine finds the folder that is shared with it. It is there, and empty, where none is.
const SharedPath = "/mnt/shared"

// SharedFolder is a folder of this computer that a machine sees. It is the machine's and not its states': a rewind leaves it as it is, and forks, parcels
// and what is compared have none.
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

package machine

import "time"

// Branch is a line of work that a rewind left. Its state lies in a checkpoint, which is kept with
// it.
type Branch struct {
	Name       string // unique in its machine, in small and in capital letters
	Named      bool   // by somebody; else the name tells when it was left, and only the last 20 are kept
	Checkpoint string // where it ends: going back there takes the line up again
	LastSeq    int    // of that checkpoint
	Steps      int    // instructions whose effect is in it, and not in the machine's present state
	LeftAt     time.Time
}

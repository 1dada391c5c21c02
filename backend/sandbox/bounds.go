package sandbox

const (
	// PidsMax bounds the processes and threads of one sandbox, outside. gVisor itself takes some
	// per thread inside.
	PidsMax = 4096
	// Weight makes machines give way to what a person does at the computer meanwhile; everything
	// else has 100.
	Weight = 50
	// left is how much of the computer's processors a machine leaves to everything else, however
	// much it has to do: half of one. Of a single processor that would be too much to take; there
	// the weight has to do.
	left = 0.5
	// hardOverhead is what the hard limit leaves beyond the machine's own: what a save writes
	// counts too, until it is on the disk, and without room for it the save of a machine that has
	// grown beyond its own limit all but stands still.
	hardOverhead = 4 << 30
)

// Processors is how many of a computer's processors one machine may use, where the system lets us
// bound that.
func Processors(of int) float64 { return max(1, float64(of)-left) }

// HardLimit is the limit from outside of a machine whose own is limit, both in bytes, 0 for none.
// It leaves more than the watchdog does, so that this one stops the machine gently first.
func HardLimit(limit int64) int64 {
	if limit <= 0 {
		return 0
	}
	return limit + limit/4 + hardOverhead
}

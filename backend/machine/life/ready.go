package life

import "github.com/forevervm/desktop/backend/machine"

// Ready is how a machine that has come into memory goes on.
type Ready struct {
	HandOver bool  // the running instruction never got there: hand it over again
	Stale    *int  // an instruction runs that is over for us: stop it; nil for none
	TakeBack []int // instructions in the runner's own queue that are over for us
}

// Reconcile compares what the runner says with the record. run is the number of the instruction
// that runs in the record, -1 for none; next is the number that the next instruction gets. What the
// runner says may be forged.
func Reconcile(said machine.Ready, run, next int) Ready {
	r := Ready{HandOver: run >= 0 && said.LastSeq < run}
	if s := said.Running; s != nil && *s >= 0 && *s < next && *s != run {
		stale := *s
		r.Stale = &stale
	}
	for _, seq := range said.Queued {
		if seq != run {
			r.TakeBack = append(r.TakeBack, seq)
		}
	}
	return r
}

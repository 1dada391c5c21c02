package local

import (
	"sync/atomic"
	"time"
)

// KeepAhead is how long after the last start a sandbox that was made ahead is kept for the next:
// starts come in bursts, and it takes memory.
const KeepAhead = 5 * time.Minute

// MaxUseless is how many in a row may be of no use until no more are made.
const MaxUseless = 3

// Ahead tells whether making sandboxes ahead is of use here. Its zero value says that it is.
type Ahead struct{ useless atomic.Int32 } // in a row

// Useful says whether more are to be made.
func (a *Ahead) Useful() bool { return a.useless.Load() < MaxUseless }

// Worked notes that one was of use.
func (a *Ahead) Worked() { a.useless.Store(0) }

// Failed notes that one was of no use where a sandbox made for the machine was, and says whether
// more are to be made.
func (a *Ahead) Failed() (useful bool) { return a.useless.Add(1) < MaxUseless }

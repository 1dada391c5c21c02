package hosted

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// slowRecords has one instruction. It is over on record once nothing is being written.
type slowRecords struct {
	Records
	s    *session
	read chan struct{} // closed when it was read before that
}

func (r *slowRecords) Instruction(context.Context, machine.ID, int) (machine.InstructionRecord, error) {
	in := machine.InstructionRecord{Instruction: machine.Instruction{Seq: 1, Status: machine.StatusOK}}
	if r.s.settling.TryLock() {
		r.s.settling.Unlock()
		return in, nil
	}
	close(r.read)
	in.Status = machine.StatusRunning
	return in, nil
}

// The end of an instruction is told before it is written. If another one gets on in between, who
// waits for the first still hears of its end.
func TestAnEndIsHeardWhileItIsWritten(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s := &session{ctx: ctx}
	records := &slowRecords{s: s, read: make(chan struct{})}
	s.records = records
	r := newRemote(s, machine.MachineRecord{})
	r.latest = &machine.Instruction{Seq: 2} // the other one

	s.settling.RLock() // the end of the first is told, and being written
	ended := make(chan error)
	go func() {
		_, err := r.Wait(ctx, 1)
		ended <- err
	}()
	for waiting := false; !waiting; runtime.Gosched() {
		select {
		case <-records.read:
			waiting = true
		default:
			if waiting = !s.settling.TryRLock(); !waiting { // nobody waits for the write yet
				s.settling.RUnlock()
			}
		}
	}
	s.settling.RUnlock() // it is written
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

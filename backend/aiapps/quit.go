package aiapps

import (
	"context"
	"errors"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// errStays says that an app's programs still run.
var errStays = errors.New("it still runs")

// ended waits until none of some programs runs; the error is errStays where one still does after
// the time given.
func ended(running []Program, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for _, one := range running {
		for runs(one.PID) {
			select {
			case <-ctx.Done():
				return errStays
			case <-look.C:
			}
		}
	}
	return nil
}

// runs says whether there is a process; one that has ended and that its parent has not looked after
// does not count.
func runs(pid int) bool {
	one, err := process.NewProcess(int32(pid))
	if err != nil {
		return false
	}
	state, err := one.Status()
	return err != nil || len(state) == 0 || state[0] != process.Zombie
}

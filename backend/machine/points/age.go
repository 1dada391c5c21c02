package points

import (
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Keep is for how long automatic checkpoints are kept, by their age.
type Keep struct {
	All    time.Duration // every one up to this age; negative: none but the latest
	Hourly time.Duration // and then one an hour, up to this age
	Daily  time.Duration // and then one a day, up to this age
}

// TooMany are those of a machine's checkpoints, newest first, that have become too many for their
// age.
func (k Keep) TooMany(all []machine.CheckpointRecord, now time.Time) (old []machine.CheckpointRecord) {
	var hour, day time.Time // of the last one that was kept
	for _, c := range all {
		if !c.Passing() {
			continue
		}
		age := now.Sub(c.CreatedAt)
		thisHour, thisDay := c.CreatedAt.Truncate(time.Hour), c.CreatedAt.Truncate(24*time.Hour)
		switch {
		case k.All >= 0 && age <= k.All:
		case k.All >= 0 && age <= k.Hourly && !thisHour.Equal(hour):
		case k.All >= 0 && age <= k.Daily && !thisDay.Equal(day):
		default:
			old = append(old, c)
			continue
		}
		hour, day = thisHour, thisDay
	}
	return old
}

package machine

import (
	"testing"
	"time"
)

func TestWhenABusyMachineIsDue(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	for name, c := range map[string]struct {
		p    pace
		want time.Time
	}{
		"nothing is unsaved":                            {pace{soonest: at(3)}, time.Time{}},
		"finished work":                                 {pace{changed: at(10)}, at(14)},
		"finished work that was saved since":            {pace{changed: at(10), covered: true, began: at(16)}, at(76)},
		"a long instruction":                            {pace{began: at(10)}, at(70)},
		"a long instruction after work that is unsaved": {pace{changed: at(10), began: at(11)}, at(15)},
		"work that ended in a long instruction":         {pace{changed: at(-50)}, at(-46)},
		"a save that cost much":                         {pace{changed: at(10), soonest: at(40)}, at(40)},
		"a save that cost little":                       {pace{changed: at(10), soonest: at(11)}, at(14)},
	} {
		c.p.most, c.p.within = mostUnsaved, mostUnsavedWithin
		if got := c.p.due(); !got.Equal(c.want) {
			t.Errorf("%s: due at %v, want %v", name, got.Sub(start), c.want.Sub(start))
		}
	}
}

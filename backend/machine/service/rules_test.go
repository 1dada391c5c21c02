package service

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

func TestWhenThereIsRoom(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		r    room
		want int64
	}{
		"enough":                               {room{free: 2000 * mb, floor: 1500 * mb, others: 1}, -400 * mb},
		"just enough":                          {room{free: 1600 * mb, floor: 1500 * mb, others: 1}, 0},
		"too little":                           {room{free: 1599 * mb, floor: 1500 * mb, others: 1}, mb},
		"others are coming in":                 {room{free: 1900 * mb, floor: 1500 * mb, entering: 400 * mb, others: 4}, 100 * mb},
		"the first one, on a full computer":    {room{free: 700 * mb, floor: 1500 * mb}, -88 * mb},
		"the first one, on one that is fuller": {room{free: 600 * mb, floor: 1500 * mb}, 12 * mb},
		"a small floor":                        {room{free: 600 * mb, floor: 100 * mb}, -400 * mb},
		"machines may use no more":             {room{free: 9000 * mb, floor: 1500 * mb, used: 950 * mb, most: 1000 * mb, others: 9}, 50 * mb},
		"the first one, larger than that":      {room{free: 9000 * mb, floor: 1500 * mb, most: 50 * mb}, -8388 * mb},
	} {
		if got := c.r.lacks(100 * mb); got != c.want {
			t.Errorf("%s: lacks %d MB, want %d", name, got/mb, c.want/mb)
		}
	}
}

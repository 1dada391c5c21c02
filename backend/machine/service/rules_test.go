package service

import (
	"testing"
)

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

package admission

import (
	"testing"
)

func TestWhenThereIsRoom(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		r    Room
		want int64
	}{
		"enough":                               {Room{Free: 2000 * mb, Floor: 1500 * mb, Others: 1}, -400 * mb},
		"just enough":                          {Room{Free: 1600 * mb, Floor: 1500 * mb, Others: 1}, 0},
		"too little":                           {Room{Free: 1599 * mb, Floor: 1500 * mb, Others: 1}, mb},
		"others are coming in":                 {Room{Free: 1900 * mb, Floor: 1500 * mb, Entering: 400 * mb, Others: 4}, 100 * mb},
		"the first one, on a full computer":    {Room{Free: 700 * mb, Floor: 1500 * mb}, -88 * mb},
		"the first one, on one that is fuller": {Room{Free: 600 * mb, Floor: 1500 * mb}, 12 * mb},
		"a small floor":                        {Room{Free: 600 * mb, Floor: 100 * mb}, -400 * mb},
		"machines may use no more":             {Room{Free: 9000 * mb, Floor: 1500 * mb, Used: 950 * mb, Most: 1000 * mb, Others: 9}, 50 * mb},
		"the first one, larger than that":      {Room{Free: 9000 * mb, Floor: 1500 * mb, Most: 50 * mb}, -8388 * mb},
	} {
		if got := c.r.Lacks(100 * mb); got != c.want {
			t.Errorf("%s: lacks %d MB, want %d", name, got/mb, c.want/mb)
		}
	}
}

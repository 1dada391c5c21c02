package life

import (
	"testing"
	"time"
)

func TestWhenABusyMachineIsDue(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for name, c := range map[string]struct {
		happened func(u *Unsaved)
		want     int // seconds; 0 for never
	}{
		"nothing":       {func(*Unsaved) {}, 0},
		"finished work": {func(u *Unsaved) { u.Begin(at(10)); u.Finish() }, 14},
		"a file":        {func(u *Unsaved) { u.Touch(at(10)); u.Touch(at(12)) }, 14},
		"finished work that was saved since": {func(u *Unsaved) {
			u.Begin(at(10))
			u.Finish()
			u.Save(at(12))
		}, 0},
		"a long instruction":                                {func(u *Unsaved) { u.Begin(at(10)) }, 70},
		"a long instruction that was saved":                 {func(u *Unsaved) { u.Begin(at(10)); u.Save(at(70)) }, 130},
		"a long instruction that was saved, and ended":      {func(u *Unsaved) { u.Begin(at(10)); u.Save(at(70)); u.Finish() }, 14},
		"a long instruction after work that is unsaved":     {func(u *Unsaved) { u.Touch(at(10)); u.Begin(at(11)) }, 15},
		"a long instruction after work, saved together":     {func(u *Unsaved) { u.Touch(at(10)); u.Begin(at(11)); u.Save(at(15)) }, 75},
		"an instruction that began long before other work":  {func(u *Unsaved) { u.Begin(at(10)); u.Touch(at(69)) }, 70},
		"a save of finished work that came to nothing":      {func(u *Unsaved) { u.Touch(at(10)); b := *u; u.Save(at(14)); u.Failed(b) }, 14},
		"a save of a long instruction that came to nothing": {func(u *Unsaved) { u.Touch(at(10)); u.Begin(at(11)); b := *u; u.Save(at(15)); u.Failed(b) }, 15},
	} {
		var u Unsaved
		c.happened(&u)
		got := u.Due(5*time.Second, time.Minute)
		if c.want == 0 && !got.IsZero() || c.want != 0 && !got.Equal(at(c.want)) {
			t.Errorf("%s: due at %v, want %d s", name, got.Sub(start), c.want)
		}
	}
}

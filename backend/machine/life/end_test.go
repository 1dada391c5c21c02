package life

import (
	"slices"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// each calls do with every choice of so many yes or no.
func each(n int, do func(yes []bool)) {
	yes := make([]bool, n)
	for bits := range 1 << n {
		for i := range yes {
			yes[i] = bits>>i&1 == 1
		}
		do(yes)
	}
}

func TestWhatEveryEndLeadsTo(t *testing.T) {
	kinds := []machine.CauseKind{
		machine.EndedStopped, machine.EndedKilled, machine.EndedExited, machine.EndedMemory, machine.EndedBroken, machine.EndedDamaged,
	}
	for _, kind := range kinds {
		each(11, func(y []bool) {
			e := End{
				Kind: kind, Saved: y[0], TooLarge: y[1], LeftBehind: y[2], ByUs: y[3] || y[4], Insisted: y[4],
				Run: y[5], HandedOver: y[6], Begun: y[7], Again: y[8], Interrupt: y[9], Middle: y[10],
			}
			got := e.Outcome()
			goesOn := got == ToMiddle || got == TryAgain
			switch {
			case e.Saved && !e.TooLarge != (got == PutAway):
				t.Errorf("what was saved is not the state, or the other way round: %+v", e)
			case got == TryAgain && e.Begun:
				t.Errorf("an instruction that had begun starts over: %+v", e)
			case goesOn && (!e.Run || e.Again):
				t.Errorf("more than one second chance: %+v", e)
			case goesOn && (e.Interrupt || e.Insisted || e.TooLarge):
				t.Errorf("an instruction that was stopped goes on: %+v", e)
			case got == ToMiddle && (!e.Middle || kind != machine.EndedBroken):
				t.Errorf("code that ended its own Python goes on: %+v", e)
			case got == ToMiddle && e.LeftBehind:
				t.Errorf("a newer state is given up: %+v", e)
			}
		})
	}
}

func TestWhatTheRunnerSaysIsComparedWithTheRecord(t *testing.T) {
	at := func(seq int) *int { return &seq }
	for name, one := range map[string]struct {
		said      machine.Ready
		run, next int
		want      Ready
	}{
		"nothing runs":                 {machine.Ready{LastSeq: 3}, -1, 4, Ready{}},
		"it goes on":                   {machine.Ready{LastSeq: 3, Running: at(3)}, 3, 4, Ready{}},
		"it never got there":           {machine.Ready{LastSeq: 2}, 3, 4, Ready{HandOver: true}},
		"it is over there":             {machine.Ready{LastSeq: 3}, 3, 4, Ready{}},
		"it is over for us":            {machine.Ready{LastSeq: 3, Running: at(3)}, -1, 4, Ready{Stale: at(3)}},
		"another runs":                 {machine.Ready{LastSeq: 3, Running: at(3)}, 5, 6, Ready{HandOver: true, Stale: at(3)}},
		"a forged number":              {machine.Ready{LastSeq: 9, Running: at(9)}, -1, 4, Ready{}},
		"a negative number":            {machine.Ready{Running: at(-1)}, -1, 4, Ready{}},
		"a queue of the past":          {machine.Ready{LastSeq: 3, Queued: []int{1, 2}}, -1, 4, Ready{TakeBack: []int{1, 2}}},
		"what runs waits in its queue": {machine.Ready{LastSeq: 3, Queued: []int{3, 2}}, 3, 4, Ready{TakeBack: []int{2}}},
	} {
		got := Reconcile(one.said, one.run, one.next)
		same := got.HandOver == one.want.HandOver && slices.Equal(got.TakeBack, one.want.TakeBack) &&
			(got.Stale == nil) == (one.want.Stale == nil) && (got.Stale == nil || *got.Stale == *one.want.Stale)
		if !same {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

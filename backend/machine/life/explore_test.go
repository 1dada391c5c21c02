//go:build !race

package life

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// TestEverythingThatCanHappen walks through every order of calls, results, saves, deaths and
// restarts that a machine with a few instructions can go through, and looks at each state that it
// comes to. Around Life it has the least of a world: what is on record, a sandbox, its checkpoint,
// and the one operation that the service allows at a time.
//
// It holds: nothing begins but the first of the queue, on a machine that is free; nothing is handed
// over twice in what the machine holds in memory; work is never stuck; a machine in the bin, or
// purged, does nothing; no event comes that Step refuses.
func TestEverythingThatCanHappen(t *testing.T) {
	const most = 5 * time.Minute // it takes 3 seconds
	began := time.Now()
	first := world{life: New(None), base: sandbox{run: None}}
	from := map[string]string{first.key(): ""} // what led to each state
	how := map[string]string{}
	steps := 0
	for todo := []world{first}; len(todo) > 0; {
		w := todo[0]
		todo = todo[1:]
		for _, m := range moves {
			for choice := range 2 {
				next := w.copy()
				if !m.do(&next, choice) {
					continue
				}
				steps++
				fault := next.fault
				if fault == "" {
					fault = next.wrong()
				}
				key := next.key()
				if fault != "" {
					t.Fatalf("%s\n%+v\nafter %s, %s(%d)", fault, next.life, trail(from, how, w.key()), m.name, choice)
				}
				if _, ok := from[key]; ok {
					continue
				}
				from[key], how[key] = w.key(), fmt.Sprintf("%s(%d)", m.name, choice)
				todo = append(todo, next)
			}
		}
		if time.Since(began) > most {
			t.Fatalf("%d states are not all", len(from))
		}
	}
	t.Logf("%d states, %d steps", len(from), steps)
	if len(from) < 10000 {
		t.Errorf("only %d states: something can no longer happen", len(from))
	}
}

// trail is what led to a state.
func trail(from, how map[string]string, key string) string {
	var path []string
	for ; how[key] != ""; key = from[key] {
		path = append(path, how[key])
	}
	slices.Reverse(path)
	return strings.Join(path, ", ")
}

// instructions is how many instructions come. More find nothing new, and take long.
const instructions = 3

// sandbox is what a machine holds in memory, or in a checkpoint.
type sandbox struct {
	got  [instructions]bool // what was handed over
	run  int                // what runs
	said bool               // and has put something out
}

func (b sandbox) last() int {
	last := None
	for seq, got := range b.got {
		if got {
			last = seq
		}
	}
	return last
}

// world is a machine, and what is around it.
type world struct {
	life    Life
	next    int  // the number of the next instruction
	begun   bool // on record: what runs has put something out
	again   bool // on record: what runs has had its second chance
	handed  bool // what runs was handed over in this stay in memory
	box     *sandbox
	base    sandbox // the checkpoint that the machine returns to
	saving  sandbox // what the checkpoint holds that is being made
	op      string  // the operation under way: start, save, stop, reap
	rousing bool
	wakes   bool // by the last event; no part of the state
	fault   string
}

func (w world) copy() world {
	w.life.Queue = slices.Clone(w.life.Queue)
	if w.box != nil {
		box := *w.box
		w.box = &box
	}
	return w
}

func (w world) key() string {
	box := "none"
	if w.box != nil {
		box = fmt.Sprint(*w.box)
	}
	return fmt.Sprint(w.life, w.next, w.begun, w.again, w.handed, box, w.base, w.saving, w.op, w.rousing)
}

// on is the service's: it steps, and does what follows.
func (w *world) on(ev Event) {
	before := w.life
	next, effects, err := w.life.Step(ev)
	if err != nil {
		w.fault = fmt.Sprintf("%T cannot happen: %v", ev, err)
		return
	}
	if (next.Gone || next.State == machine.Deleted) && (len(effects) > 0 || next.Run != None || len(next.Queue) > 0) {
		w.fault = fmt.Sprintf("%T: a machine that is gone or in the bin has something to do: %+v", ev, effects)
	}
	w.life, w.wakes = next, false
	for _, effect := range effects {
		switch f := effect.(type) {
		case Begin:
			if w.op == "save" || !next.Free() || next.Queue[0] != f.Seq || slices.Min(next.Queue) != f.Seq {
				w.fault = fmt.Sprintf("%d begins", f.Seq)
			}
			w.begin(f.Seq)
		case Wake:
			w.wakes = true
			w.rousing = w.rousing || next.State == machine.Swapped
		case Hand:
			w.hand(f.Seq)
		case GoOn:
			w.handed = f.HandOver
			if f.HandOver {
				w.hand(f.Seq)
			}
		case Insist:
			if next.Run == None || !next.Alive || before.Stop != NotStopped {
				w.fault = "nothing is there to be stopped, or it is stopped twice"
			}
		case InsistPast:
			if w.box.run != f.Seq {
				w.fault = fmt.Sprintf("%d does not run", f.Seq)
			}
		case TakeBack:
			w.fault = "the sandbox has no queue of its own"
		case Rest:
			if next.State != machine.Idle || next.Run != None {
				w.fault = "a machine rests that is not idle"
			}
		case Plan:
			if next.Run == None {
				w.fault = "nothing runs"
			}
		}
	}
}

// begin records that an instruction runs.
func (w *world) begin(seq int) {
	if w.life.Run != None {
		w.fault = fmt.Sprintf("%d begins while %d runs", seq, w.life.Run)
	}
	w.begun, w.again = false, w.again && w.life.Run == seq
	w.on(Begun{Seq: seq})
}

func (w *world) hand(seq int) {
	switch {
	case w.box == nil || !w.life.Alive:
		w.fault = fmt.Sprintf("%d is handed to a sandbox that is not there", seq)
	case w.box.got[seq] || w.box.run != None:
		w.fault = fmt.Sprintf("%d is handed over where %+v", seq, *w.box)
	default:
		w.box.got[seq], w.box.run, w.box.said, w.handed = true, seq, false, true
	}
}

// leftAlone checks that what could not come into memory does not try again at once, and so for
// ever.
func (w *world) leftAlone() {
	if w.wakes {
		w.fault = "it tries again at once"
	}
}

// wrong says what must not be: facts that contradict each other, or work that nothing will go on
// with.
func (w *world) wrong() string {
	l := w.life
	switch {
	case l.Run == None && (l.Interrupt || l.Paused || l.Stop != NotStopped):
		return "nothing runs, and is stopped or paused"
	case !l.State.InMemory() && (l.Alive || l.Holding || l.Stale != None || l.Stop != NotStopped):
		return "it is not in memory, and has a sandbox"
	case l.Paused && (l.State == machine.Idle || l.State == machine.Running):
		return "it goes on, and is paused"
	case !l.Wants(), w.op != "", w.rousing, l.Later: // somebody is at it
	case l.Alive && (l.Stale != None || l.Holding || l.Run != None && w.box.run == l.Run): // the sandbox goes on with it
	case l.State.InMemory() && !l.Alive: // its end is yet to be taken in
	default:
		return "work is stuck"
	}
	return ""
}

// asleep is the end of a stay in memory.
func (w *world) asleep() { w.box, w.op, w.handed = nil, "", false }

// moves are what can happen. Each says whether it can now, in the first or the second of its two
// ways.
var moves = []struct {
	name string
	do   func(w *world, choice int) bool
}{
	{"execute", func(w *world, interrupt int) bool {
		if w.next == instructions || w.life.Gone || w.life.State == machine.Deleted {
			return false
		}
		seq := w.next
		w.next++
		atOnce := w.life.Free() && (len(w.life.Queue) == 0 || interrupt == 1)
		if interrupt == 1 {
			w.on(Emptied{})
			w.on(Interrupted{})
		}
		if atOnce {
			w.begin(seq)
		} else {
			w.on(Queued{Seq: seq})
		}
		return true
	}},
	{"cancel", func(w *world, at int) bool {
		if at >= len(w.life.Queue) {
			return false
		}
		w.on(Canceled{Seq: w.life.Queue[at]})
		return true
	}},
	{"interrupt", func(w *world, timeout int) bool {
		if w.life.Run == None {
			return false
		}
		if timeout == 1 {
			w.on(TimedOut{Seq: w.life.Run})
		} else {
			w.on(Interrupted{})
		}
		return true
	}},
	{"start", func(w *world, only int) bool {
		if only != 0 || w.op != "" || w.life.State != machine.Swapped || w.life.Gone {
			return false
		}
		w.op = "start"
		w.on(Waking{})
		return true
	}},
	{"started", func(w *world, fails int) bool {
		if w.op != "start" {
			return false
		}
		w.op = ""
		if fails == 1 {
			w.on(NotAwake{})
		} else {
			box := w.base
			w.box = &box
			said := machine.Ready{LastSeq: box.last()}
			if box.run != None {
				said.Running = &box.run
			}
			w.on(Awake{Said: said, Next: w.next})
		}
		return true
	}},
	{"roused", func(w *world, lost int) bool { // what was to be in memory is, or could not be
		if !w.rousing || w.op != "" {
			return false
		}
		w.rousing = false
		if w.life.State == machine.Swapped && w.life.Wants() {
			w.on(GaveUp{Lost: lost == 1})
			w.leftAlone()
		} else {
			w.on(Asked{})
		}
		return true
	}},
	{"retry", func(w *world, only int) bool {
		if only != 0 || !w.life.Later {
			return false
		}
		w.on(Retried{})
		return true
	}},
	{"output", func(w *world, only int) bool {
		if only != 0 || w.box == nil || w.box.run == None || w.box.said || !w.life.Alive {
			return false
		}
		w.box.said = true
		w.begun = w.begun || w.box.run == w.life.Run
		return true
	}},
	{"result", func(w *world, hold int) bool {
		if w.box == nil || w.box.run == None || !w.box.said || !w.life.Alive {
			return false
		}
		over := w.box.run
		save := hold == 1 && w.op == "" && over == w.life.Run
		w.box.run = None
		if save {
			w.op, w.saving = "save", *w.box
		}
		switch over {
		case w.life.Run:
			w.on(Over{Hold: save})
		case w.life.Stale:
			w.on(StaleOver{})
		}
		return true
	}},
	{"save", func(w *world, only int) bool {
		if only != 0 || w.op != "" || !w.life.Alive || w.life.State != machine.Idle && w.life.State != machine.Running {
			return false
		}
		w.op, w.saving = "save", *w.box
		w.on(Held{})
		return true
	}},
	{"saved", func(w *world, fails int) bool {
		if w.op != "save" {
			return false
		}
		w.op = ""
		if fails == 0 {
			w.base = w.saving
			w.again = w.again && w.base.run == None
		}
		w.on(Released{})
		return true
	}},
	{"stop", func(w *world, person int) bool {
		if w.op != "" || !w.life.Alive || person == 0 && !w.life.AtRest() {
			return false
		}
		if person == 1 {
			w.on(PutToSleep{})
		}
		w.op = "stop"
		w.on(Leaving{})
		return true
	}},
	{"stopped", func(w *world, fails int) bool {
		if w.op != "stop" || w.box == nil {
			return false
		}
		if fails == 1 {
			w.op = ""
			if w.life.Alive { // else its end is taken in
				w.on(Stays{})
			}
			return true
		}
		w.base = *w.box
		w.on(Died{})
		w.asleep()
		w.on(Asleep{})
		return true
	}},
	{"memory runs short", func(w *world, only int) bool {
		if only != 0 || w.op != "" || !w.life.Alive {
			return false
		}
		w.base = *w.box
		w.on(Died{})
		w.asleep()
		w.on(Asleep{Later: true})
		w.leftAlone()
		return true
	}},
	{"crash", func(w *world, only int) bool {
		if only != 0 || w.box == nil || !w.life.Alive {
			return false
		}
		w.on(Died{})
		return true
	}},
	{"reap", func(w *world, exits int) bool {
		if w.op != "" || w.box == nil || w.life.Alive {
			return false
		}
		w.goBack(exits == 0)
		w.asleep()
		w.on(Asleep{})
		return true
	}},
	{"the daemon dies", func(w *world, both int) bool {
		if w.life.Gone || w.life.State == machine.Deleted {
			return false
		}
		live := w.box != nil
		if live && both == 0 && w.life.Alive {
			w.base, live = *w.box, false // its supervisor saves it
		}
		paused := w.life.Paused && !live // is on record
		w.life = New(w.life.Run, w.life.Queue...)
		w.life.Paused = paused
		w.rousing = false
		if live {
			w.goBack(true)
		}
		w.asleep()
		w.on(Asked{})
		return true
	}},
	{"rewind", func(w *world, only int) bool { // to the last checkpoint
		if only != 0 || w.op != "" || w.life.Gone || w.life.State == machine.Deleted || w.life.State == machine.Waking {
			return false
		}
		if w.box != nil {
			w.on(Leaving{})
		}
		w.asleep()
		w.on(Rewound{})
		if len(w.life.Queue) > 0 {
			w.fault = "what waited was meant for another state"
		}
		return true
	}},
	{"bin", func(w *world, only int) bool {
		if only != 0 || w.op != "" || w.life.Gone || w.life.State != machine.Swapped {
			return false
		}
		w.on(Emptied{})
		w.on(Binned{})
		return true
	}},
	{"restore", func(w *world, purge int) bool {
		if w.life.Gone || w.life.State != machine.Deleted || w.op != "" {
			return false
		}
		if purge == 1 {
			w.on(Purged{})
		} else {
			w.on(Restored{})
		}
		return true
	}},
}

// goBack returns the machine to its checkpoint after its sandbox has ended without having been
// saved.
func (w *world) goBack(broken bool) {
	kind := machine.EndedExited
	if broken {
		kind = machine.EndedBroken
	}
	l := w.life
	runs := l.Run != None
	to := End{
		Kind: kind, ByUs: l.Stop != NotStopped, Insisted: l.Stop != NotStopped, Run: runs, HandedOver: w.handed, Begun: w.begun, Again: w.again,
		Interrupt: l.Interrupt, Middle: runs && w.base.run == l.Run,
	}.Outcome()
	switch to {
	case ToMiddle:
		w.again = true
		w.on(SetBack{GoesOn: true, Again: None})
	case TryAgain:
		w.again = true
		w.base = w.quiet()
		w.on(SetBack{Again: l.Run})
	default:
		w.base = w.quiet()
		w.on(SetBack{Again: None})
	}
}

// quiet is the last checkpoint in which nothing ran.
func (w *world) quiet() sandbox {
	quiet := w.base
	if quiet.run != None {
		quiet.got[quiet.run] = false
		quiet.run, quiet.said = None, false
	}
	return quiet
}

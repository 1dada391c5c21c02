package points

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// point is an automatic checkpoint that was made so many minutes after the start, of what came from
// another.
func point(id, parent string, minutes int) machine.CheckpointRecord {
	return machine.CheckpointRecord{Checkpoint: machine.Checkpoint{
		ID: id, Parent: parent, Kind: machine.CheckpointAuto, LastSeq: minutes, CreatedAt: start.Add(time.Duration(minutes) * time.Minute),
	}}
}

func ids(all []machine.CheckpointRecord) (ids []string) {
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestCheckpointsThinOutWithAge(t *testing.T) {
	keep := Keep{All: time.Hour, Hourly: 3 * time.Hour, Daily: 48 * time.Hour}
	var all []machine.CheckpointRecord // one each twenty minutes, newest first
	for minutes := 1440; minutes >= 0; minutes -= 20 {
		all = append(all, point(fmt.Sprint(minutes), "", minutes))
	}
	kept := func(keep Keep, after time.Duration) (kept []string) {
		old := ids(keep.TooMany(all, start.Add(after)))
		for _, c := range all {
			if !slices.Contains(old, c.ID) {
				kept = append(kept, c.ID)
			}
		}
		return kept
	}
	if got, want := kept(keep, 24*time.Hour), []string{"1440", "1420", "1400", "1380", "1360", "1300", "700"}; !slices.Equal(got, want) {
		t.Errorf("kept are %v, want %v", got, want)
	}
	if got := kept(keep, 100*time.Hour); len(got) > 0 {
		t.Errorf("kept forever are %v", got)
	}
	if got := kept(Keep{All: -1}, 24*time.Hour); len(got) > 0 {
		t.Errorf("beside the latest there are %v", got)
	}
}

func TestWhatARewindLeavesIsABranch(t *testing.T) {
	p := Points{Machine: machine.MachineRecord{Base: "c"}, All: []machine.CheckpointRecord{point("c", "b", 2), point("b", "a", 1), point("a", "", 0)}}
	left := p.Leave(p.All[2], "", start)
	if left.Undo != "c" || left.Line != "" || !slices.Equal(ids(left.Changed), []string{"c", "a"}) || left.Changed[0].Branch == "" || left.Changed[0].Named {
		t.Errorf("%+v", left)
	}
	if left := p.Leave(p.All[2], "Mine", start); left.Changed[0].Branch != "Mine" || !left.Changed[0].Named {
		t.Errorf("with a name: %+v", left)
	}
	if left := p.Leave(p.All[0], "", start); len(left.Changed) > 0 {
		t.Errorf("where it is already: %+v", left)
	}
	// Unnamed branches that are too many end, the first left first.
	for i := range branchesKept + 3 {
		c := point(fmt.Sprint("tip", i), "", 10+i)
		c.SetBranch(fmt.Sprint("old ", i), i == 0, start.Add(time.Duration(i)*time.Minute))
		p.All = append(p.All, c)
	}
	ended := ids(p.Leave(p.All[2], "", start.Add(time.Hour)).Changed[2:])
	if want := []string{"tip3", "tip2", "tip1"}; !slices.Equal(ended, want) {
		t.Errorf("ended are %v, want %v", ended, want)
	}
}

func TestABranchTakesAlongWhatIsItsOwn(t *testing.T) {
	kept := point("kept", "", 0)
	kept.Kind = machine.CheckpointManual
	p := Points{Machine: machine.MachineRecord{Machine: machine.Machine{Name: "m", Branch: "line"}, Base: "base"}, All: []machine.CheckpointRecord{
		point("tip", "mine", 4), point("mine", "shared", 3), point("base", "shared", 2), point("shared", "kept", 1), kept,
	}}
	p.All[0].SetBranch("Try", true, start)
	if got := ids(p.Belonging(p.All[0])); !slices.Equal(got, []string{"tip", "mine"}) {
		t.Errorf("%v", got)
	}
	for name, want := range map[string]error{"new": nil, "try": machine.ErrNameTaken, "LINE": machine.ErrNameTaken} {
		if err := p.MayName(name, ""); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := p.MayName("TRY", "Try"); err != nil {
		t.Errorf("its own name: %v", err)
	}
	for to, want := range map[string]string{"mine": "mine", "try": "tip"} {
		if c, err := p.Find(to); err != nil || c.ID != want {
			t.Errorf("%s is %s, %v", to, c.ID, err)
		}
	}
	if _, err := p.Find("none"); !machine.IsNotFound(err) {
		t.Errorf("what there is not: %v", err)
	}
}

func TestWhatANewCheckpointTakesThePlaceOf(t *testing.T) {
	running := 5
	same, middle, brief, other := point("same", "", 3), point("middle", "", 4), point("brief", "", 2), point("other", "", 1)
	middle.RunningSeq = &running
	p := Points{Machine: machine.MachineRecord{Machine: machine.Machine{Undo: "undo"}, Base: "new"}, All: []machine.CheckpointRecord{point("new", "", 3), middle, same, brief, other, point("undo", "", 3)}}
	if got := ids(p.Replaced(p.All[0], "brief", false)); !slices.Equal(got, []string{"middle", "same", "brief"}) {
		t.Errorf("%v", got)
	}
	if got := ids(p.Replaced(p.All[0], "", true)); !slices.Equal(got, []string{"middle", "same", "brief", "other"}) {
		t.Errorf("where only the latest stays: %v", got)
	}
	p.Pinned = "other"
	if got := ids(p.Replaced(p.All[0], "", true)); slices.Contains(got, "other") {
		t.Errorf("the one that a rewind is under way to goes: %v", got)
	}
}

func TestWhatAMoveTakesAlong(t *testing.T) {
	// quiet <- middle (kept, 5 runs in it) <- passing <- tip (a branch) <- passing2 <- base
	middle, tip, running := point("middle", "quiet", 5), point("tip", "passing", 7), 5
	middle.RunningSeq, middle.Kind, tip.Branch = &running, machine.CheckpointManual, "try"
	tip.Shrunk = true
	p := Points{
		Machine: machine.MachineRecord{Machine: machine.Machine{Undo: "tip"}, Base: "base", Fallback: "base"},
		All: []machine.CheckpointRecord{
			point("base", "passing2", 9), point("passing2", "tip", 8), tip, point("passing", "middle", 6), middle, point("quiet", "", 4), point("early", "", 1),
		},
	}
	going := p.Going()
	if got := ids(going); !slices.Equal(got, []string{"quiet", "middle", "tip", "base"}) {
		t.Fatalf("%v goes along", got)
	}
	copies := map[string]machine.CheckpointInfo{}
	for _, c := range going {
		copies[c.ID] = machine.CheckpointInfo{ID: c.ID + "'", Size: 7, Whole: 8}
	}
	moved, m := p.Moved(p.Machine, copies)
	var got []string
	for _, c := range moved {
		got = append(got, c.Parent+"<"+c.ID)
	}
	if !slices.Equal(got, []string{"<quiet'", "quiet'<middle'", "middle'<tip'", "tip'<base'"}) {
		t.Errorf("%v", got)
	}
	if m.Base != "base'" || m.Fallback != "base'" || m.Undo != "tip'" {
		t.Errorf("the machine refers to %+v", m)
	}
	if now := moved[2]; now.Branch != "try" || now.Shrunk || now.Size != 7 || now.Whole != 8 {
		t.Errorf("the branch's end is %+v", now)
	}
}

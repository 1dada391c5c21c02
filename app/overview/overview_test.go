package overview

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/app/words"
	"github.com/forevervm/desktop/backend/api"
)

func loaded(machines ...api.Machine) *known {
	k := &known{words: words.In("en"), since: time.Now().Add(-time.Hour)}
	k.load(api.Status{Engines: []api.Engine{{Name: "native", Default: true}}}, machines, nil, nil)
	return k
}

func TestTheMoodIsTheMostUrgent(t *testing.T) {
	k := loaded(api.Machine{ID: "1", Name: "calm-cat-1", State: "swapped"})
	if v := k.view(); v.Mood != Idle || v.Concern != "" || len(v.Awake) > 0 {
		t.Errorf("nothing runs: %+v", v)
	}
	k.machine(api.Machine{ID: "6", Name: "halted", State: "swapped", Paused: true})
	if v := k.view(); v.Mood != Idle || !slices.Equal(v.Paused, []string{"halted"}) {
		t.Errorf("one is paused: %+v", v)
	}
	k.machine(api.Machine{ID: "2", Name: "z", Title: "Sales", State: "running"})
	k.machine(api.Machine{ID: "3", Name: "a", Title: "thesis", State: "running"})
	k.machine(api.Machine{ID: "4", Name: "b", State: "idle"})
	k.machine(api.Machine{ID: "5", Name: "far", Engine: "hosted", State: "idle"}) // nobody here takes it out of memory
	v := k.view()
	if v.Mood != Running || !slices.Equal(v.Running, []Machine{{"z", "Sales"}, {"a", "thesis"}}) || !slices.Equal(v.Awake, []string{"a", "b", "z"}) {
		t.Errorf("two run, one waits: %+v", v)
	}
	k.status.Warnings = []string{"The disk is full."}
	if v := k.view(); v.Mood != Attention || v.Concern != "The disk is full." || len(v.Running) != 2 {
		t.Errorf("with a warning: %+v", v)
	}
	k.status.Engines[0].Problems = []api.Problem{{What: "The kernel refuses.", Do: "Allow it."}}
	if v := k.view(); v.Concern != "The kernel refuses." {
		t.Errorf("with an engine that does not work: %+v", v)
	}
	k.trouble = "The daemon cannot be started."
	if v := k.view(); v.Concern != "The daemon cannot be started." {
		t.Errorf("without a daemon: %+v", v)
	}
	k.load(api.Status{}, nil, nil, nil)
	if v := k.view(); v.Mood != Idle {
		t.Errorf("after it has come back: %+v", v)
	}
}

func TestStepsThatWereNotSeenAreShownOnceNothingRuns(t *testing.T) {
	k := loaded(api.Machine{ID: "1", Name: "a", Title: "Sales", State: "running"}, api.Machine{ID: "2", Name: "b", State: "swapped", Failed: true})
	k.unseen = map[string]int{"1": 2, "2": 1, "gone": 3}
	if v := k.view(); !slices.Equal(v.News, []News{{Machine{"b", "b"}, 1, true}}) || len(v.Running) != 1 {
		t.Errorf("while one runs: %+v", v)
	}
	k.machine(api.Machine{ID: "1", Name: "a", Title: "Sales", State: "idle"})
	if v := k.view(); !slices.Equal(v.News, []News{{Machine{"b", "b"}, 1, true}, {Machine{"a", "Sales"}, 2, false}}) {
		t.Errorf("afterwards: %+v", v)
	}
}

func TestAMachineThatWasTakenOutOfMemoryIsNewsOnce(t *testing.T) {
	const why = "It took more memory than it may. It was saved and taken out of memory."
	old := api.Machine{ID: "1", Name: "calm-cat-1", State: "swapped", Notice: "It could not wake."}
	k := loaded(old)
	if news := k.machine(old); len(news) > 0 {
		t.Errorf("what was known before is told: %+v", news)
	}
	m := api.Machine{ID: "2", Name: "b", Title: "Sales", State: "running", Notice: why}
	if news := k.machine(m); len(news) > 0 {
		t.Errorf("it still runs: %+v", news)
	}
	m.State = "swapped"
	news := k.machine(m)
	if len(news) != 1 || news[0] != (Notice{Title: "Sales", Body: why, Machine: "b"}) {
		t.Errorf("news: %+v", news)
	}
	if at := news[0].Address(); at != "#/machine/b" {
		t.Errorf("it leads to %q", at)
	}
	if again := k.machine(m); len(again) > 0 {
		t.Errorf("told twice: %+v", again)
	}
	if v := k.view(); v.Mood != Attention || v.Concern != "Sales: "+why {
		t.Errorf("it needs no attention: %+v", v)
	}
	m.State, m.Notice = "idle", ""
	k.machine(m)
	m.State, m.Notice = "swapped", why
	if news := k.machine(m); len(news) != 1 {
		t.Errorf("a second time is news again, but: %+v", news)
	}
}

func TestTheEndOfALongInstructionIsNewsOnce(t *testing.T) {
	k := loaded(api.Machine{ID: "1", Name: "calm-cat-1", Title: "Sales", State: "running"})
	now := time.Now()
	in := api.Instruction{Machine: "calm-cat-1", Seq: 3, Status: "running", RuntimeMS: 90_000}
	if news := k.instruction(in); len(news) > 0 {
		t.Errorf("it still runs: %+v", news)
	}
	in.Status, in.EndedAt = "ok", &now
	news := k.instruction(in)
	if len(news) != 1 || news[0] != (Notice{Title: "Sales", Body: "The code has finished after 2 minutes.", Machine: "calm-cat-1"}) {
		t.Errorf("news: %+v", news)
	}
	if again := k.instruction(in); len(again) > 0 {
		t.Errorf("told twice: %+v", again)
	}
	in.Seq, in.RuntimeMS, in.Status = 4, 7_200_000, "error"
	if news := k.instruction(in); len(news) != 1 || !strings.Contains(news[0].Body, "after 2 hours, with an error") {
		t.Errorf("an error: %+v", news)
	}
	in.Seq, in.RuntimeMS = 5, 59_000
	if news := k.instruction(in); len(news) > 0 {
		t.Errorf("a short one: %+v", news)
	}
	before := k.since.Add(-time.Minute)
	in.Seq, in.RuntimeMS, in.EndedAt = 6, 90_000, &before
	if news := k.instruction(in); len(news) > 0 {
		t.Errorf("one that ended before anybody looked: %+v", news)
	}
}

func TestAnAppIsNewsWhenItIsFirstHeardFrom(t *testing.T) {
	k := loaded()
	k.apps = []api.App{{ID: "claude", Name: "Claude Desktop", State: "connected"}, {ID: "zed", Name: "Zed", State: "connected", Seen: &api.AppSeen{}}}
	heard := []api.App{{ID: "claude", Name: "Claude Desktop", State: "connected", Seen: &api.AppSeen{}}, k.apps[1]}
	news := k.heard(heard)
	if len(news) != 1 || news[0].Title != "Claude Desktop is connected" {
		t.Errorf("news: %+v", news)
	}
	if again := k.heard(heard); len(again) > 0 {
		t.Errorf("told twice: %+v", again)
	}
	if v := k.view(); !slices.Equal(v.Apps, []string{"Claude Desktop", "Zed"}) {
		t.Errorf("connected: %q", v.Apps)
	}
}

func TestAnAppThatLosesItsConnectionIsNewsOnce(t *testing.T) {
	k := loaded()
	as := func(state string) []api.App { return []api.App{{ID: "claude", Name: "Claude Desktop", State: state}} }
	k.apps = as("connected")
	news := k.heard(as("wiped"))
	if len(news) != 1 || news[0].Title != "Claude Desktop is disconnected" || !strings.Contains(news[0].Body, "repair") || news[0].Address() != "#/apps" {
		t.Errorf("news: %+v", news)
	}
	if again := k.heard(as("wiped")); len(again) > 0 {
		t.Errorf("told twice: %+v", again)
	}
	if v := k.view(); v.Mood != Attention || v.Concern != "Claude Desktop is disconnected" || len(v.Apps) > 0 {
		t.Errorf("it needs no attention: %+v", v)
	}
	k.heard(as("connected"))
	if news := k.heard(as("wiped")); len(news) != 1 {
		t.Errorf("a second time is news again, but: %+v", news)
	}
	k = loaded()
	k.load(k.status, nil, as("wiped"), nil)
	if news := k.heard(as("wiped")); len(news) > 0 {
		t.Errorf("what was so before is told: %+v", news)
	}
}

func TestLabelsAreOneShortLine(t *testing.T) {
	for title, want := range map[string]string{
		"":                         "name",
		" Sales\n  figures\t":      "Sales figures",
		"abc\u202edef":             "abc def",
		"\u200b\x1b":               "name",
		strings.Repeat("ä", 49):    strings.Repeat("ä", 47) + "…",
		strings.Repeat("x", 48):    strings.Repeat("x", 48),
		"50 % of __everything__ &": "50 % of __everything__ &",
	} {
		if got := label(api.Machine{Name: "name", Title: title}); got != want {
			t.Errorf("label of %q is %q, want %q", title, got, want)
		}
	}
}

func TestAnAppThatAsksIsNewsOnce(t *testing.T) {
	k := loaded(api.Machine{ID: "1", Name: "calm-cat-1", Title: "Sales", State: "idle"})
	asks := api.Permission{ID: 1, Kind: "rewind", App: "Claude", Machine: "calm-cat-1", Steps: 12, State: "waiting"}
	news := k.permission(asks)
	want := Notice{Title: "Claude asks", Body: "Claude wants to return Sales to an earlier state. Open ForeverVM to answer.", Machine: "calm-cat-1"}
	if len(news) != 1 || news[0] != want {
		t.Errorf("%+v", news)
	}
	if again := k.permission(asks); len(again) > 0 {
		t.Errorf("told again: %+v", again)
	}
	k.permission(api.Permission{ID: 2, Kind: "memory", App: "Cursor", MemoryMB: 4096, State: "waiting"})
	asks.State = "allowed"
	k.permission(asks)
	if v := k.view(); v.Mood != Attention || v.Concern != "Cursor wants a machine with more memory." {
		t.Errorf("%+v", v)
	}
	k.permission(api.Permission{ID: 2, State: "expired"})
	if v := k.view(); v.Concern != "" {
		t.Errorf("after the answers: %+v", v)
	}
}

func TestAMachineThatAsksIsNewsOnceForEachHost(t *testing.T) {
	k := loaded(api.Machine{ID: "1", Name: "calm-cat-1", Title: "Sales", State: "running"})
	asks := func(id int64, host string) []Notice {
		return k.connection("calm-cat-1", api.Connection{ID: id, Host: host, State: "asking"})
	}
	news := asks(1, "a.example")
	if len(news) != 1 || news[0].Title != "Sales asks" || !strings.Contains(news[0].Body, "a.example") || news[0].Machine != "calm-cat-1" {
		t.Errorf("%+v", news)
	}
	if again := append(asks(1, "a.example"), asks(2, "a.example")...); len(again) > 0 {
		t.Errorf("told again: %+v", again)
	}
	if other := asks(3, "b.example"); len(other) != 1 {
		t.Errorf("another host: %+v", other)
	}
	if v := k.view(); v.Mood != Attention || v.Concern != "Sales wants to reach a.example." {
		t.Errorf("%+v", v)
	}
	for id, state := range map[int64]string{1: "open", 2: "denied", 3: "closed"} {
		k.connection("calm-cat-1", api.Connection{ID: id, State: state})
	}
	if v := k.view(); v.Mood != Running {
		t.Errorf("after the answers: %+v", v)
	}
}

package tray

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forevervm/desktop/app/overview"
	"github.com/forevervm/desktop/app/words"
)

func TestTheMenuSaysWhatGoesOn(t *testing.T) {
	idle := Of(overview.View{}, false, words.In("en"))
	if idle.Status != "Nothing is running" || idle.Tooltip != "ForeverVM: Nothing is running" || idle.CanPause || idle.Apps != "Connect an AI app…" {
		t.Errorf("idle: %+v", idle)
	}
	paused := Of(overview.View{Paused: []string{"a", "b"}}, false, words.In("en"))
	if paused.Status != "2 machines are paused" || paused.Resume != "Resume 2 machines" || idle.Resume != "" {
		t.Errorf("paused: %+v", paused)
	}
	view := overview.View{Mood: overview.Running, Apps: []string{"Claude Desktop", "Zed"}}
	for i := range MaxMachines + 3 {
		m := overview.Machine{Name: fmt.Sprint("m", i), Label: fmt.Sprint("Machine ", i)}
		view.Running, view.Awake = append(view.Running, m), append(view.Awake, m.Name)
	}
	menu := Of(view, true, words.In("en"))
	if menu.Status != "11 machines are running" || len(menu.Machines) != MaxMachines || menu.More != "and 3 more" || !menu.CanPause || !menu.AtLogin {
		t.Errorf("running: %+v", menu)
	}
	if menu.Machines[0] != (Line{Text: "Machine 0", Machine: "m0"}) || menu.Apps != "AI apps: Claude Desktop, Zed" {
		t.Errorf("running: %+v", menu)
	}
	view.Running = view.Running[:MaxMachines-2]
	for i, name := range []string{"One", "Other", "Third"} {
		m := overview.Machine{Name: strings.ToLower(name), Label: name}
		view.News = append(view.News, overview.News{Machine: m, Steps: i + 1, Failed: i == 2})
	}
	menu = Of(view, true, words.In("en"))
	if last := menu.Machines[MaxMachines-2:]; last[0] != (Line{"One: 1 new step", "one"}) || last[1] != (Line{"Other: 2 new steps", "other"}) || menu.More != "and 1 more" {
		t.Errorf("with news: %+v", menu)
	}
	view.News = view.News[2:]
	if menu = Of(view, true, words.In("en")); menu.Machines[MaxMachines-2].Text != "Third: failed" || menu.More != "" {
		t.Errorf("with a failure: %+v", menu)
	}
	view.Concern = strings.Repeat("The disk is full. ", 20)
	if menu := Of(view, true, words.In("en")); len([]rune(menu.Status)) > maxLine || !strings.HasPrefix(menu.Status, "The disk is full.") || menu.Tooltip != "ForeverVM needs attention" {
		t.Errorf("with a concern: %+v", menu)
	}
}

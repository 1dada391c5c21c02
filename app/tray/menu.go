// Package tray says what the icon in the system's tray and its menu show. It knows no system: it is
// a function of the overview.
package tray

import (
	"fmt"
	"strings"

	"github.com/forevervm/desktop/app/overview"
	"github.com/forevervm/desktop/app/words"
)

// MaxMachines is how many machines have a line of their own.
const MaxMachines = 8

// Menu is what is shown. A line without text is not there.
type Menu struct {
	Mood    overview.Mood
	Tooltip string

	// The lines that are always there.
	Open, Pause, Login, Quit string

	Status   string // what goes on; for reading only
	Machines []Line // those that run, then those with news; at most MaxMachines
	More     string // how many more there are; for reading only
	// CanPause says whether there is anything to pause.
	CanPause bool
	Resume   string // how many machines are paused, as a command
	Apps     string
	AtLogin  bool
}

// Line stands for a machine.
type Line struct {
	Text    string
	Machine string
}

// Of is the menu for a view, in the words of a language.
func Of(view overview.View, atLogin bool, w *words.Words) Menu {
	menu := Menu{
		Mood: view.Mood, CanPause: len(view.Awake) > 0, AtLogin: atLogin,
		Open: w.Open, Pause: w.Pause, Login: w.AtLogin, Quit: w.Quit, Apps: w.Connect,
		Status: running(len(view.Running), w),
	}
	if n := len(view.Paused); n > 0 {
		menu.Resume = count(n, w.ResumeOne, w.ResumeMany)
		if len(view.Running) == 0 {
			menu.Status = count(n, w.OnePaused, w.ManyPaused)
		}
	}
	menu.Tooltip = "ForeverVM: " + menu.Status
	if view.Concern != "" {
		menu.Status = clip(view.Concern)
		menu.Tooltip = w.Attention
	}
	for _, m := range view.Running {
		menu.Machines = append(menu.Machines, Line{Text: m.Label, Machine: m.Name})
	}
	for _, m := range view.News {
		menu.Machines = append(menu.Machines, Line{Text: news(m, w), Machine: m.Name})
	}
	if more := len(menu.Machines) - MaxMachines; more > 0 {
		menu.Machines = menu.Machines[:MaxMachines]
		menu.More = fmt.Sprintf(w.AndMore, more)
	}
	if len(view.Apps) > 0 {
		menu.Apps = fmt.Sprintf(w.Apps, clip(strings.Join(view.Apps, ", ")))
	}
	return menu
}

func running(n int, w *words.Words) string {
	if n == 0 {
		return w.NothingRuns
	}
	return count(n, w.OneRuns, w.ManyRun)
}

// news says what a person has not seen of a machine.
func news(m overview.News, w *words.Words) string {
	switch {
	case m.Failed:
		return fmt.Sprintf(w.NewFailed, m.Label)
	case m.Steps == 1:
		return fmt.Sprintf(w.NewStep, m.Label)
	}
	return fmt.Sprintf(w.NewSteps, m.Label, m.Steps)
}

// count is a sentence about n machines.
func count(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}

// Stays asks a person who quits while code runs in n machines, and says what becomes of them.
func Stays(n int, w *words.Words) string {
	return count(n, w.OneStays, w.ManyStay)
}

// maxLine is how many characters fit into a line of a menu.
const maxLine = 72

// clip makes a sentence fit into a line.
func clip(text string) string {
	letters := []rune(text)
	if len(letters) <= maxLine {
		return text
	}
	return strings.TrimSpace(string(letters[:maxLine-1])) + "…"
}

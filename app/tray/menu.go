// Package tray says what the icon in the system's tray and its menu show. It knows no system: it is
// a function of the overview.
package tray

import (
	"fmt"
	"strings"

	"github.com/forevervm/desktop/app/overview"
)

// MaxRunning is how many running machines have a line of their own.
const MaxRunning = 8

// The lines that are always the same.
const (
	Open    = "Open ForeverVM"
	Pause   = "Pause all machines"
	AtLogin = "Start at login"
	Quit    = "Quit"
)

// Menu is what is shown. A line without text is not there.
type Menu struct {
	Mood    overview.Mood
	Tooltip string

	Status  string // what goes on; for reading only
	Running []Line // at most MaxRunning
	More    string // how many more there are; for reading only
	// CanPause says whether there is anything to pause.
	CanPause bool
	Apps     string
	AtLogin  bool
}

// Line stands for a machine.
type Line struct {
	Text    string
	Machine string
}

// Of is the menu for a view.
func Of(view overview.View, atLogin bool) Menu {
	menu := Menu{Mood: view.Mood, CanPause: len(view.Awake) > 0, AtLogin: atLogin, Apps: "Connect an AI app…"}
	menu.Status = running(len(view.Running))
	menu.Tooltip = "ForeverVM: " + lower(menu.Status)
	if view.Concern != "" {
		menu.Status = clip(view.Concern)
		menu.Tooltip = "ForeverVM needs attention"
	}
	for _, m := range view.Running {
		if len(menu.Running) == MaxRunning {
			menu.More = fmt.Sprintf("and %d more", len(view.Running)-MaxRunning)
			break
		}
		menu.Running = append(menu.Running, Line{Text: m.Label, Machine: m.Name})
	}
	if len(view.Apps) > 0 {
		menu.Apps = "AI apps: " + clip(strings.Join(view.Apps, ", "))
	}
	return menu
}

func running(n int) string {
	switch n {
	case 0:
		return "Nothing is running"
	case 1:
		return "1 machine is running"
	}
	return fmt.Sprintf("%d machines are running", n)
}

// Kept is what people are told who quit while code runs.
func Kept(n int) string {
	if n == 1 {
		return "A machine is running. It keeps running without this window, and nothing is lost. Open ForeverVM again to see it."
	}
	return fmt.Sprintf("%d machines are running. They keep running without this window, and nothing is lost. Open ForeverVM again to see them.", n)
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

func lower(sentence string) string { return strings.ToLower(sentence[:1]) + sentence[1:] }

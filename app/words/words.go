// Package words has what the tray, its notifications and its questions say, in each language of the
// window. It has a file for each language.
package words

import (
	"fmt"
	"time"
)

// Words are the sentences of one language. A verb such as %s stands where its comment says.
type Words struct {
	// The lines of the menu.
	Open  string
	Pause string
	// Those who are paused while code runs, as commands and as states.
	ResumeOne, ResumeMany, OnePaused, ManyPaused string
	AtLogin                                      string
	Quit                                         string
	Connect                                      string // leads to the AI apps, while none is connected
	Apps                                         string // %s: their names

	NothingRuns string
	OneRuns     string
	ManyRun     string // %d machines
	AndMore     string // %d machines more than are listed
	NewStep     string // the machine %s has one that was not seen
	NewSteps    string // the machine %s has %d of them
	NewFailed   string // the last of them in the machine %s failed
	Attention   string // the icon's tooltip

	// Questions and notifications.
	QuitTitle string
	OneStays  string // what becomes of the machine that runs, and the question whether to quit
	ManyStay  string // the same for %d machines
	StillHere string
	InTheTray string // where the icon is; %s: Quit

	Asks         string // %s: a machine
	WantsToReach string // %s: a host; it tells the person to open ForeverVM
	Wants        string // %s: a machine, %s: a host
	WantsBack    string // %s: an AI app, %s: a machine
	WantsMemory  string // %s: an AI app
	ToAnswer     string // it follows the two above
	Finished     string // %s: a duration
	Failed       string // %s: a duration

	Disconnected string // %s: an AI app
	Overwrote    string // why, and what to do
	Connected    string // %s: an AI app
	CanRun       string // what that means

	LoginUnchanged string // the title above the reason

	Minute, Hour   string
	Minutes, Hours string // %d
	And            string // %s hours, %s minutes
}

// languages are all that there are, by the language's part of a tag such as pt-BR.
var languages = map[string]*Words{
	"en": &english, "de": &german, "es": &spanish, "fr": &french, "ja": &japanese, "pt": &portuguese, "zh": &chinese,
}

// In has the words of a language; English where it has none.
func In(language string) *Words {
	if words, ok := languages[language]; ok {
		return words
	}
	return &english
}

// Duration says how long a minute or more is.
func (w *Words) Duration(d time.Duration) string {
	count := func(n int, one, many string) string {
		if n == 1 {
			return one
		}
		return fmt.Sprintf(many, n)
	}
	minutes := int(d.Round(time.Minute) / time.Minute)
	if minutes < 60 {
		return count(minutes, w.Minute, w.Minutes)
	}
	hours := count(minutes/60, w.Hour, w.Hours)
	if minutes%60 == 0 {
		return hours
	}
	return fmt.Sprintf(w.And, hours, count(minutes%60, w.Minute, w.Minutes))
}

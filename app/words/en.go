package words

var english = Words{
	Open:    "Open ForeverVM",
	Pause:   "Pause all machines",
	AtLogin: "Start at login",
	Quit:    "Quit",
	Connect: "Connect an AI app…",
	Apps:    "AI apps: %s",

	ResumeOne:  "Resume 1 machine",
	ResumeMany: "Resume %d machines",
	OnePaused:  "1 machine is paused",
	ManyPaused: "%d machines are paused",

	NothingRuns: "Nothing is running",
	OneRuns:     "1 machine is running",
	ManyRun:     "%d machines are running",
	AndMore:     "and %d more",
	NewStep:     "%s: 1 new step",
	NewSteps:    "%s: %d new steps",
	NewFailed:   "%s: failed",
	Attention:   "ForeverVM needs attention",

	QuitTitle: "Quit ForeverVM?",
	OneStays:  "A machine is running. It keeps running without this window, and nothing is lost. Open ForeverVM again to see it. Quit now?",
	ManyStay:  "%d machines are running. They keep running without this window, and nothing is lost. Open ForeverVM again to see them. Quit now?",
	StillHere: "ForeverVM is still here",
	InTheTray: "Its icon in the tray opens the window again. “%s” in the icon's menu ends it.",

	Asks:         "%s asks",
	WantsToReach: "It wants to reach %s. Open ForeverVM to answer.",
	Wants:        "%s wants to reach %s.",
	WantsBack:    "%s wants to return %s to an earlier state.",
	WantsMemory:  "%s wants a machine with more memory.",
	ToAnswer:     "Open ForeverVM to answer.",
	Finished:     "The code has finished after %s.",
	Failed:       "The code has stopped after %s, with an error.",

	Disconnected: "%s is disconnected",
	Overwrote:    "It overwrote its settings. Open ForeverVM to repair the connection.",
	Connected:    "%s is connected",
	CanRun:       "It can now run Python in machines on this computer. ForeverVM shows what it does.",

	LoginUnchanged: "Start at login could not be changed",

	Minute:  "1 minute",
	Minutes: "%d minutes",
	Hour:    "1 hour",
	Hours:   "%d hours",
	And:     "%s and %s",
}

package words

var german = Words{
	Open:    "ForeverVM öffnen",
	Pause:   "Alle Maschinen anhalten",
	AtLogin: "Beim Anmelden starten",
	Quit:    "Beenden",
	Connect: "KI-App verbinden…",
	Apps:    "KI-Apps: %s",

	ResumeOne:  "1 Maschine fortsetzen",
	ResumeMany: "%d Maschinen fortsetzen",
	OnePaused:  "1 Maschine ist angehalten",
	ManyPaused: "%d Maschinen sind angehalten",

	NothingRuns: "Nichts läuft",
	OneRuns:     "1 Maschine läuft",
	ManyRun:     "%d Maschinen laufen",
	AndMore:     "und %d weitere",
	NewStep:     "%s: 1 neuer Schritt",
	NewSteps:    "%s: %d neue Schritte",
	NewFailed:   "%s: fehlgeschlagen",
	Attention:   "ForeverVM braucht Ihre Aufmerksamkeit",

	QuitTitle: "ForeverVM beenden?",
	OneStays:  "Eine Maschine läuft. Sie läuft auch ohne dieses Fenster weiter, und nichts geht verloren. Öffnen Sie ForeverVM wieder, um sie zu sehen. Jetzt beenden?",
	ManyStay:  "%d Maschinen laufen. Sie laufen auch ohne dieses Fenster weiter, und nichts geht verloren. Öffnen Sie ForeverVM wieder, um sie zu sehen. Jetzt beenden?",
	StillHere: "ForeverVM ist noch da",
	InTheTray: "Sein Symbol im Infobereich öffnet das Fenster wieder. „%s“ in dessen Menü beendet es.",

	Asks:         "%s fragt",
	WantsToReach: "Sie möchte %s erreichen. Öffnen Sie ForeverVM, um zu antworten.",
	Wants:        "%s möchte %s erreichen.",
	WantsBack:    "%s möchte %s auf einen früheren Stand zurücksetzen.",
	WantsMemory:  "%s möchte eine Maschine mit mehr Arbeitsspeicher.",
	ToAnswer:     "Öffnen Sie ForeverVM, um zu antworten.",
	Finished:     "Der Code ist nach %s fertig.",
	Failed:       "Der Code hat nach %s mit einem Fehler aufgehört.",

	Disconnected: "%s ist getrennt",
	Overwrote:    "Die App hat ihre Einstellungen überschrieben. Öffnen Sie ForeverVM, um die Verbindung zu reparieren.",
	Connected:    "%s ist verbunden",
	CanRun:       "Die App kann jetzt auf diesem Computer Python in Maschinen ausführen. ForeverVM zeigt, was sie tut.",

	LoginUnchanged: "Der Start beim Anmelden ließ sich nicht ändern",

	Minute:  "1 Minute",
	Minutes: "%d Minuten",
	Hour:    "1 Stunde",
	Hours:   "%d Stunden",
	And:     "%s und %s",
}

package overview

import "testing"

func TestSentence(t *testing.T) {
	for given, want := range map[string]string{
		"the daemon is gone":            "The daemon is gone.",
		"The daemon is gone.":           "The daemon is gone.",
		"nothing runs (see the log)":    "Nothing runs (see the log).",
		"öffnen ging nicht; try again!": "Öffnen ging nicht; try again!",
	} {
		if got := Sentence(given); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", given, got, want)
		}
	}
}

package app

import (
	"errors"
	"testing"
)

func TestSentence(t *testing.T) {
	for given, want := range map[string]string{
		"the daemon is gone":            "The daemon is gone.",
		"The daemon is gone.":           "The daemon is gone.",
		"nothing runs (see the log)":    "Nothing runs (see the log).",
		"öffnen ging nicht; try again!": "Öffnen ging nicht; try again!",
	} {
		if got := sentence(errors.New(given)); got != want {
			t.Errorf("sentence(%q) = %q, want %q", given, got, want)
		}
	}
}

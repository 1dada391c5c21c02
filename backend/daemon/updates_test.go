package daemon

import (
	"errors"
	"testing"
)

func TestWhatIsWrongWithAnUpdateIsToldInSentences(t *testing.T) {
	for text, want := range map[string]string{
		"it is offline":  "It is offline.",
		"It is offline.": "It is offline.",
		"the download stopped\n\nélan is lost\n": "The download stopped.\nÉlan is lost.",
	} {
		if got := inWords(errors.New(text)); got != want {
			t.Errorf("%q is told as %q", text, got)
		}
	}
}

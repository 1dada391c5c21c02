package words

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"
)

var verb = regexp.MustCompile(`%(?:\[(\d)\])?([sd])`)

// verbs are a sentence's verbs in the order of what they stand for.
func verbs(sentence string) []string {
	var all []string
	for i, m := range verb.FindAllStringSubmatch(sentence, -1) {
		place := m[1]
		if place == "" {
			place = fmt.Sprint(i + 1)
		}
		all = append(all, place+m[2])
	}
	slices.Sort(all)
	return all
}

func TestEachLanguageSaysEverything(t *testing.T) {
	want := reflect.ValueOf(english)
	for language, words := range languages {
		got := reflect.ValueOf(*words)
		for i := range want.NumField() {
			field, text := want.Type().Field(i).Name, got.Field(i).String()
			if text == "" || !slices.Equal(verbs(text), verbs(want.Field(i).String())) {
				t.Errorf("%s says %q for %s, which is %q", language, text, field, want.Field(i))
			}
		}
	}
}

func TestALanguageThatIsNotThereIsEnglish(t *testing.T) {
	if In("tlh").Quit != "Quit" || In("de").Quit == "Quit" {
		t.Error("In finds the wrong words")
	}
}

func TestDurationsAreInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Minute:                  "1 minute",
		150 * time.Second:            "3 minutes",
		time.Hour:                    "1 hour",
		time.Hour + time.Minute:      "1 hour and 1 minute",
		2*time.Hour + 30*time.Minute: "2 hours and 30 minutes",
	} {
		if got := In("en").Duration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

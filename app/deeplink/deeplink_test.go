package deeplink

import (
	"strings"
	"testing"
)

func TestOnlyMachinesAreLinkedTo(t *testing.T) {
	for link, want := range map[string]string{
		"forevervm://machine/brave-otter-42":               "brave-otter-42",
		"ForeverVM://machine/brave-otter-42/":              "brave-otter-42",
		"forevervm://machine/a":                            "a",
		"forevervm://machine/":                             "",
		"forevervm://machine":                              "",
		"forevervm:machine/a":                              "",
		"forevervm://machine/a/b":                          "",
		"forevervm://machine/-a":                           "",
		"forevervm://machine/%27);alert(1)//":              "",
		"forevervm://machine/a?run=1":                      "",
		"forevervm://machine/a#b":                          "",
		"forevervm://me@machine/a":                         "",
		"forevervm://delete/a":                             "",
		"https://machine/a":                                "",
		"--hidden":                                         "",
		"forevervm://machine/" + strings.Repeat("a", 64):   "",
		"forevervm://machine/" + strings.Repeat("a", 63):   strings.Repeat("a", 63),
		"forevervm://machine/" + strings.Repeat("/", 1000): "",
	} {
		got, ok := Machine(link)
		if ok != (want != "") || ok && got != want {
			t.Errorf("Machine(%q) = %q, %v", link, got, ok)
		}
	}
}

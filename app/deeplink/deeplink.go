// Package deeplink knows the program's own addresses, forevervm://machine/NAME, and has the system
// open them with it.
package deeplink

import (
	"net/url"
	"regexp"
	"strings"
)

// Scheme is what the addresses begin with.
const Scheme = "forevervm"

// Program is what opens the addresses.
type Program struct {
	ID          string // names its entry among the person's applications: letters, digits, hyphens
	WindowClass string // of its windows, on X11
	Name        string // what people call it
	Path        string // absolute
	Icon        []byte // a PNG file of 128 by 128
}

// name is that of a machine (backend/machine). Links come from anybody: nothing else gets through.
var name = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Is says whether a word is meant to be one of the addresses.
func Is(word string) bool { return strings.HasPrefix(strings.ToLower(word), Scheme+":") }

// Machine is the name of the machine that an address means, or false where it means none.
func Machine(link string) (string, bool) {
	if len(link) > 200 {
		return "", false
	}
	at, err := url.Parse(link)
	if err != nil || !strings.EqualFold(at.Scheme, Scheme) || !strings.EqualFold(at.Host, "machine") || at.RawQuery != "" || at.Fragment != "" || at.User != nil {
		return "", false
	}
	machine := strings.Trim(at.Path, "/")
	return machine, name.MatchString(machine)
}

package server

import (
	"net/http"
	"strings"
	"unicode"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

const (
	headerClient      = "X-Forevervm-Client" // "name/version"
	headerInterrupted = "X-Forevervm-Interrupted"
)

// clientOf says which program sent a request: by our own header, by those of the SDKs, else by its
// user agent. It is what the program says of itself, so it is shown and never trusted.
func clientOf(r *http.Request) machine.Client {
	if own := r.Header.Get(headerClient); own != "" {
		name, version, _ := cutLast(own, "/")
		return machine.Client{Name: shown(name), Version: shown(version)}
	}
	if sdk := r.Header.Get(wire.HeaderSDK); sdk != "" {
		name := "forevervm-sdk " + sdk
		if runner := r.Header.Get(wire.HeaderRunner); runner != "" {
			name += " (" + runner + ")"
		}
		return machine.Client{Name: shown(name)}
	}
	agent, _, _ := strings.Cut(r.UserAgent(), " ")
	name, version, _ := strings.Cut(agent, "/")
	switch name {
	case "":
		return machine.Client{Name: "unknown"}
	case "Mozilla": // every browser calls itself that
		return machine.Client{Name: "browser"}
	}
	return machine.Client{Name: shown(name), Version: shown(version)}
}

// cutLast splits at the last separator: names may hold slashes, versions don't.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// shown makes a name fit to be shown: printable, and not long.
func shown(s string) string {
	const most = 100
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most])
	}
	return strings.TrimSpace(s)
}

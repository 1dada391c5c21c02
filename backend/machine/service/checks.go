package service

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// reserved are words that stand where a name stands in the wire's addresses.
var reserved = []string{"new", "list"}

const (
	maxName    = 63
	maxTitle   = 200
	maxTags    = 64
	maxTagKey  = 128
	maxTagText = 1024
	maxLabel   = 200
	maxQueue   = 1000

	minMemoryMB = 64
	maxMemoryMB = 1 << 20
)

func checkName(name string) error {
	if slices.Contains(reserved, name) {
		return machine.Invalid("A machine cannot be called %q: the word has a meaning of its own. Choose another name.", name)
	}
	fits := name != "" && len(name) <= maxName && !strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-")
	for _, c := range name {
		fits = fits && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !fits {
		return machine.Invalid("%q cannot be a machine's name: use 1 to %d lowercase letters, digits and hyphens, with no hyphen at either end. A title may hold anything.", naming.Clip(name, 80), maxName)
	}
	return nil
}

func checkText(what, text string, limit int) error {
	switch {
	case !utf8.ValidString(text):
		return machine.Invalid("%s is not valid UTF-8 text.", what)
	case utf8.RuneCountInString(text) > limit:
		return machine.Invalid("%s may have at most %d characters.", what, limit)
	case strings.ContainsFunc(text, unicode.IsControl):
		return machine.Invalid("%s may not contain control characters.", what)
	}
	return nil
}

func checkTags(tags map[string]string) error {
	if len(tags) > maxTags {
		return machine.Invalid("A machine may have at most %d tags.", maxTags)
	}
	for k, v := range tags {
		if k == "" {
			return machine.Invalid("A tag needs a name.")
		}
		if err := checkText("A tag's name", k, maxTagKey); err != nil {
			return err
		}
		if err := checkText("A tag's value", v, maxTagText); err != nil {
			return err
		}
	}
	return nil
}

// checkMemory refuses a memory limit that makes no sense, or is more than the computer has.
func (s *Service) checkMemory(mb int) error {
	most := maxMemoryMB
	if s.totalMemory > 0 {
		most = min(most, int(s.totalMemory>>20))
	}
	if mb < minMemoryMB || mb > most {
		return machine.Invalid("A memory limit of %d MB is not possible; choose from %d to %d.", mb, minMemoryMB, most)
	}
	return nil
}

// mostForeign is the highest memory limit, in MiB, that a machine from elsewhere may bring along:
// half of the computer's memory, or the default. A person may raise it later.
func (s *Service) mostForeign() int { return max(machine.DefaultMemoryMB, int(s.totalMemory>>21)) }

func checkExpiry(at *time.Time, now time.Time) error {
	if at != nil && !at.After(now) {
		return machine.Invalid("The expiry time %s has already passed.", at.UTC().Format(time.RFC3339))
	}
	return nil
}

func checkImage(image string) error {
	if image != "base" && image != "ml" {
		return machine.Invalid("There is no sandbox image %q; choose base or ml.", naming.Clip(image, 40))
	}
	return nil
}

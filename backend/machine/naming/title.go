package naming

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	minDerivedTitle = 4 // characters: nothing shorter tells one machine from another
	maxDerivedTitle = 60
	maxSummary      = 120
	titleWithin     = 16 << 10 // bytes of code that are looked at
)

var (
	// wiring are lines that tell nothing of what code is for.
	wiring = regexp.MustCompile(`^(?:(?:import|from)\s|[%@]|!\s*pip\b|try:)`)
	// pragmas are comments for programs.
	pragmas = regexp.MustCompile(`^#(?:!|.*\bcoding[:=]|\s*(?:type|noqa|fmt|pylint|ruff|mypy):)`)
	// secrets are lines that may hold one, which is not for everybody who sees the list.
	secrets = regexp.MustCompile(`(?i)passw|\bpwd\b|secret|token|api.?key|_key\b|credential|bearer|\bsk-|\bAKIA|://[^/\s]+@`)
	// docstring is how one begins.
	docstring = regexp.MustCompile(`^[rRuU]?("""|''')`)
)

// Title is what code says that it is for, as one short line that can be shown: its first comment,
// or the docstring that it begins with, else what it does with files, websites, models, charts and
// variables, else its first line that does something. "" where it says nothing. The code may be
// anything.
func Title(code string) string {
	says, does := read(code)
	return cmp.Or(says, work(code), does)
}

// work is what code does that a person would call the work by; "" for nothing of the kind.
func work(code string) string {
	acts := slices.DeleteFunc(Does(code), func(a Act) bool {
		return !slices.Contains([]What{Fetches, Reads, Fits, Draws, Saves, Computes}, a.What)
	})
	if phrase := Phrase(acts); !secrets.MatchString(phrase) {
		return shortLine(phrase, maxDerivedTitle)
	}
	return ""
}

// TitleOf is what a sender says of its code, else what the code says that it is for, as Title does.
func TitleOf(summary, code string) string {
	if title := shortLine(summary, maxDerivedTitle); title != "" && !secrets.MatchString(summary) {
		return title
	}
	return Title(code)
}

// Says is what code says that it is for: its first comment, or the docstring that it begins with.
// "" where it has none.
func Says(code string) string {
	says, _ := read(code)
	return says
}

// Summary is what a sender says of its code, as one short line that can be shown.
func Summary(said string) string { return clipLine(said, 1, maxSummary) }

// read looks for what code says of itself, and for its first line that does something.
func read(code string) (says, does string) {
	until := ""   // what ends the docstring, string or import that the line is in; "" where it is in none
	first := true // nothing has come before but blank lines
	inDoc := false
	for line := range strings.Lines(strings.ToValidUTF8(code[:min(len(code), titleWithin)], "")) {
		line = strings.TrimSpace(line)
		if until == "" {
			switch begin := docstring.FindStringSubmatch(line); {
			case line == "" || pragmas.MatchString(line):
				continue
			case line[0] == '#':
				if title := shortLine(strings.Trim(line, "#%=-*_~+| \t"), maxDerivedTitle); title != "" && !secrets.MatchString(line) {
					return title, does
				}
				continue
			case first && begin != nil:
				line, until, inDoc = line[len(begin[0]):], begin[1], true
			default:
				if does == "" && !secrets.MatchString(line) {
					does = shortLine(statement(line), maxDerivedTitle)
				}
				until = opens(line)
			}
			first = false
			if !inDoc {
				continue
			}
		}
		text, _, ends := strings.Cut(line, until)
		if inDoc {
			if title := shortLine(text, maxDerivedTitle); title != "" && !secrets.MatchString(text) {
				return title, does
			}
		}
		if ends {
			until, inDoc = "", false
		}
	}
	return "", does
}

// statement is what a line does, without the imports before it; "" for nothing.
func statement(line string) string {
	for wiring.MatchString(line) {
		_, rest, _ := strings.Cut(line, ";")
		line = strings.TrimSpace(rest)
	}
	return line
}

// opens is what ends the string or the import that a line begins and does not end; "" for none.
func opens(line string) string {
	for _, quotes := range []string{`"""`, `'''`} {
		if strings.Count(line, quotes)%2 == 1 {
			return quotes
		}
	}
	if strings.HasPrefix(line, "from ") && strings.HasSuffix(line, "(") {
		return ")"
	}
	return ""
}

// shortLine is text made fit for one short line: nothing that cannot be seen, or that reverses what
// follows. "" where it says nothing.
func shortLine(text string, longest int) string { return clipLine(text, minDerivedTitle, longest) }

// clipLine is shortLine for text of another length, in characters.
func clipLine(text string, shortest, longest int) string {
	text = visible(text)
	length := utf8.RuneCountInString(text)
	if length < shortest || !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	if length <= longest {
		return text
	}
	short := string([]rune(text)[:longest-1])
	if space := strings.LastIndexByte(short, ' '); space > len(short)/2 {
		short = short[:space]
	}
	return strings.TrimSpace(short) + "…"
}

// visible is text on one line, without what cannot be seen or reverses what follows.
func visible(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)), " ")
}

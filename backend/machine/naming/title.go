package naming

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	minDerivedTitle = 4 // characters: nothing shorter tells one machine from another
	maxDerivedTitle = 60
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
// or the docstring that it begins with, else its first line that does something. "" where it says
// nothing. The code may be anything.
func Title(code string) string {
	does := ""    // the first line that does something
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
				if title := shortLine(strings.Trim(line, "#%=-*_~+| \t")); title != "" && !secrets.MatchString(line) {
					return title
				}
				continue
			case first && begin != nil:
				line, until, inDoc = line[len(begin[0]):], begin[1], true
			default:
				if does == "" && !secrets.MatchString(line) {
					does = shortLine(statement(line))
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
			if title := shortLine(text); title != "" && !secrets.MatchString(text) {
				return title
			}
		}
		if ends {
			until, inDoc = "", false
		}
	}
	return does
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
func shortLine(text string) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)), " ")
	length := utf8.RuneCountInString(text)
	if length < minDerivedTitle || !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	if length <= maxDerivedTitle {
		return text
	}
	short := string([]rune(text)[:maxDerivedTitle-1])
	if space := strings.LastIndexByte(short, ' '); space > len(short)/2 {
		short = short[:space]
	}
	return strings.TrimSpace(short) + "…"
}

package aiapps

import (
	"regexp"
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
)

// contextLines are shown above and below what changes.
const contextLines = 3

// difference shows what a change does to a file, line by line, as diff -u does. It shows the values
// of our own entry only: of all else, which may hold the keys of other servers, the structure is
// shown and each value is "…".
func difference(before, after []byte, own string) string {
	change := configfile.Between(before, after)
	if change.Removed == "" && change.Inserted == "" {
		return ""
	}
	ours := ourLines(before, after, own)
	show := func(line string) string {
		line = strings.TrimRight(line, "\r\n")
		if ours[bare(line)] {
			return line
		}
		return redact(line)
	}
	start, end := change.Offset, change.Offset+len(change.Removed)
	head, tail := string(before[:start]), string(before[end:])
	var out strings.Builder
	headLines := splitLines(head)
	// What stands on the same line as the change belongs to it.
	startOfLine, endOfLine := "", ""
	if n := len(headLines); n > 0 && !strings.HasSuffix(headLines[n-1], "\n") {
		startOfLine, headLines = headLines[n-1], headLines[:n-1]
	}
	tailLines := splitLines(tail)
	if len(tailLines) > 0 && !(strings.HasSuffix(change.Removed, "\n") || change.Removed == "" && strings.HasSuffix(change.Inserted, "\n") && startOfLine == "") {
		endOfLine, tailLines = tailLines[0], tailLines[1:]
	}
	for _, line := range headLines[max(0, len(headLines)-contextLines):] {
		out.WriteString("  " + redact(strings.TrimRight(line, "\r\n")) + "\n")
	}
	// Where only a piece of a line changes, as of a file that is all one line, the piece is shown;
	// but a line of ours is shown as a whole.
	inLine := !(blank(startOfLine) && blank(endOfLine)) && !ours[bare(startOfLine+change.Inserted+endOfLine)]
	write := func(sign, middle, other string) {
		if inLine && !strings.Contains(middle, "\n") {
			switch {
			case strings.TrimSpace(middle) == "":
			case bare(middle) == bare(own) && (blank(other) || !strings.Contains(middle, other)): // else a comment of theirs is amid it
				out.WriteString(sign + " …" + middle + "…\n")
			default:
				out.WriteString(sign + " …\n")
			}
			return
		}
		text := startOfLine + middle + endOfLine
		for _, line := range splitLines(text) {
			if strings.TrimSpace(line) != "" {
				out.WriteString(sign + " " + show(line) + "\n")
			}
		}
	}
	write("-", change.Removed, change.Inserted)
	write("+", change.Inserted, change.Removed)
	for _, line := range tailLines[:min(contextLines, len(tailLines))] {
		out.WriteString("  " + redact(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return unchanged(out.String())
}

// ourLines are the lines of own that only one of the texts has, or one has more of. The others are
// somebody else's, and stand amid what was put in.
func ourLines(before, after []byte, own string) map[string]bool {
	more := map[string]int{}
	for line := range strings.Lines(string(after)) {
		more[bare(line)]++
	}
	for line := range strings.Lines(string(before)) {
		more[bare(line)]--
	}
	ours := map[string]bool{}
	for line := range strings.Lines(own) {
		if line = bare(line); more[line] != 0 {
			ours[line] = true
		}
	}
	return ours
}

// unchanged takes lines that go and come back as the same for context.
func unchanged(diff string) string {
	lines := slices.Collect(strings.Lines(diff))
	gone, came := -1, -1
	for i, line := range lines {
		if strings.HasPrefix(line, "- ") && gone < 0 {
			gone = i
		}
		if strings.HasPrefix(line, "+ ") && came < 0 {
			came = i
		}
	}
	if gone >= 0 && came > gone && lines[gone][2:] == lines[came][2:] {
		lines[gone] = "  " + lines[gone][2:]
		lines = append(lines[:came], lines[came+1:]...)
	}
	return strings.Join(lines, "")
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
}

// bare is a line without what depends on its place.
func bare(line string) string { return strings.TrimRight(strings.TrimSpace(line), ",") }

func blank(text string) bool { return structure.MatchString(text) }

var (
	structure = regexp.MustCompile(`^[\s{}\[\](),-]*$`)
	keyed     = regexp.MustCompile(`^(\s*(?:-\s+)?(?:"(?:[^"\\]|\\.)*"\s*:|(?:'[^']*'|[A-Za-z0-9_.-]+)(?:\s*:(?:\s|$)|\s+=\s))\s*)(.*)$`)
	section   = regexp.MustCompile(`^\s*\[+[^\[\]=]*\]+\s*$`)
)

// redact hides all values of a line.
func redact(line string) string {
	switch {
	case structure.MatchString(line), section.MatchString(line):
		return line
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if parts := keyed.FindStringSubmatch(line); parts != nil {
		switch value := strings.TrimSpace(parts[2]); {
		case value == "", value == "{", value == "[", value == "{}", value == "{},", value == "[]", value == "[],":
			return line
		case strings.HasSuffix(value, ","):
			return parts[1] + "…,"
		}
		return parts[1] + "…"
	}
	return indent + "…"
}

package main

import "strings"

// complete says whether Python code can be run as it is: brackets and strings are closed, the last
// line does not go on, and a block (what follows a colon) is ended by an empty line, as at Python's
// own prompt. It errs on the side of running: the machine then says what is wrong.
func complete(code string) bool {
	lines := strings.Split(code, "\n")
	last := lines[len(lines)-1]
	s := scan(code)
	switch {
	case s.open > 0 || s.triple != "" || s.continued:
		return false
	case len(lines) > 1 && strings.TrimSpace(last) == "":
		return true
	}
	// A block began, or the last line is part of one.
	return !s.block && !(len(lines) > 1 && strings.TrimLeft(last, " \t") != last)
}

// scanned is what a walk through code found at its end.
type scanned struct {
	open      int    // brackets that are not closed
	triple    string // the quotes of a long string that is not closed
	continued bool   // the last line ends with a backslash
	block     bool   // the last line that is not empty ends with a colon, or is a decorator
}

func scan(code string) (s scanned) {
	for line := range strings.SplitSeq(code, "\n") {
		trimmed := strings.TrimSpace(line)
		inside := s.open > 0 || s.triple != ""
		ending := s.line(line)
		s.continued = ending == '\\'
		if trimmed != "" && !strings.HasPrefix(trimmed, "#") && s.open == 0 && s.triple == "" {
			s.block = ending == ':' || !inside && strings.HasPrefix(trimmed, "@")
		}
	}
	return s
}

// line walks through one line and returns its last character that is neither space nor comment.
func (s *scanned) line(line string) (ending byte) {
	for i := 0; i < len(line); {
		rest := line[i:]
		if s.triple != "" {
			switch {
			case strings.HasPrefix(rest, s.triple):
				i += len(s.triple)
				s.triple, ending = "", '"'
			case rest[0] == '\\':
				i += 2
			default:
				i++
			}
			continue
		}
		switch c := rest[0]; c {
		case '#':
			return ending
		case '\'', '"':
			quotes := string(c)
			if strings.HasPrefix(rest, strings.Repeat(quotes, 3)) {
				s.triple = strings.Repeat(quotes, 3)
				i += 3
			} else {
				i += shortString(rest)
			}
			ending = c
			continue
		case '(', '[', '{':
			s.open++
		case ')', ']', '}':
			s.open = max(0, s.open-1)
		}
		if rest[0] != ' ' && rest[0] != '\t' {
			ending = rest[0]
		}
		i++
	}
	return ending
}

// shortString is the length of the string that text begins with, up to the end of the line if it is
// not closed.
func shortString(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

package export

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// escapes are a terminal's, and control characters that no document shows.
var escapes = regexp.MustCompile(`\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]`)

// plain is text as a terminal would show it in the end: without colours, each line as it was last
// rewritten.
func plain(text []byte) string {
	lines := strings.Split(escapes.ReplaceAllString(string(text), ""), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// visible shows characters that are not seen but change how code reads, such as those that turn its
// direction around.
func visible(code string) string {
	return strings.Map(func(r rune) rune {
		if r >= ' ' && r < 0x7f || r == '\n' || r == '\t' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return r
		}
		return '\u2426' // a symbol for what cannot be shown
	}, normal(code))
}

// normal is code with every end of a line as Python sees it written as a newline.
func normal(code string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\f", "\n").Replace(code)
}

// line is text of anybody's on one line, without what would end it.
func line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}), " ")
}

// heading says which step it is, what it does, whose, when and how long it took.
func heading(in machine.Instruction) string {
	parts := []string{fmt.Sprintf("Step %d", in.Seq+1)}
	if does := headline(in); does != "" {
		parts = append(parts, does)
	}
	parts = append(parts, author(in.Client), in.QueuedAt.UTC().Format("2006-01-02 15:04 UTC"))
	if in.Status.Done() && in.Status != machine.StatusCancelled {
		parts = append(parts, in.Runtime.Round(time.Millisecond).String())
	}
	return strings.Join(parts, " · ")
}

// headline is what a step does, in a few words: as its sender says, else as its code looks. "" for
// unknown.
func headline(in machine.Instruction) string {
	if said := cmp.Or(in.Summary, naming.Says(in.Code)); said != "" {
		return line(said)
	}
	return line(naming.Phrase(naming.Does(in.Code)))
}

// author is who sent an instruction, as the page says it.
func author(c machine.Client) string {
	switch c.Name {
	case "":
		return "A program"
	case "window", "browser":
		return "A person"
	case "forevervm CLI":
		return "Command line"
	}
	return line(c.Name)
}

// remark says in a sentence how a step ended that did not simply succeed; "" for one that did.
func remark(in machine.Instruction) string {
	var told string
	switch in.Status {
	case machine.StatusQueued:
		told = "This step had not begun yet."
	case machine.StatusRunning:
		told = "This step was still running."
	case machine.StatusCancelled:
		told = "This step was cancelled before it ran."
	case machine.StatusError:
		told = "This step failed: " + line(in.ErrorName) + "."
	}
	if in.RolledBack {
		told = strings.TrimSpace(told + " The machine went back to an earlier state since: what this step did is undone.")
	}
	return told
}

// worked says whether a step's effect is in the machine.
func worked(in machine.Instruction) bool { return in.Status == machine.StatusOK && !in.RolledBack }

// form is the first representation of one of these types.
func form(forms []machine.Representation, types ...string) *machine.Representation {
	for _, mime := range types {
		for i := range forms {
			if forms[i].MIME == mime {
				return &forms[i]
			}
		}
	}
	return nil
}
